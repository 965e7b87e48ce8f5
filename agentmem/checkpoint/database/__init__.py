"""What stores in databases share. The stores are `agentmem.checkpoint.sqlite` and `agentmem.checkpoint.postgres`."""
