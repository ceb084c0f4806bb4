"""APIs of authentication and authorization: SASL, SCRAM, delegation tokens, ACLs."""
