"""APIs of the cluster: brokers, topics, versions."""
