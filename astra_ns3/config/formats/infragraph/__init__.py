"""InfraGraph (github.com/Keysight/infragraph): devices of components, instances of devices, and what joins them."""
