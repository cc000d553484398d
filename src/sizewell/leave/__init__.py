"""Write the program of a stack anew, without Sizewell: the provider's own resources, each as the engine knows it."""
