"""Models that count: IBM Model 1 and a translator made of counts."""
