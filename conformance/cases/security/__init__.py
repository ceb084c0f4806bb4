"""Authentication and authorization: SASL, SCRAM, delegation tokens, ACLs."""
