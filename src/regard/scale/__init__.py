"""Large files, line by line, over many processes: a ledger of finished blocks, and engines that compute them."""
