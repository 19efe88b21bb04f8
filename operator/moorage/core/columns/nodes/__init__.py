"""The node table and what shares its row numbers: labels, images, ports, zones."""
