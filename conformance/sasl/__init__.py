"""Logins by SASL in cases: the client's side of SCRAM, and stand-ins for what a broker makes up."""
