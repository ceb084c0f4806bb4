"""The types of kio as other libraries see them."""
