"""In which order columns or samples enter: least angle, reconstruction; several methods ask."""
