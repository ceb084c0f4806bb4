"""Who one is and what one may do: SASL, SCRAM, delegation tokens, ACLs."""
