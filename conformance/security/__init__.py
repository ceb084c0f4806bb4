"""Cases of security: their ACLs, and the steps that they share."""
