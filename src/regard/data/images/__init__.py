"""Images with labels: a folder of pictures by class, IDX and CIFAR files, divided, changed a little, in batches."""
