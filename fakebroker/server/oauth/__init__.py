"""The cluster as an authorization server: tokens for logins by OAUTHBEARER, signed and verified. Needs the extra
`security`."""
