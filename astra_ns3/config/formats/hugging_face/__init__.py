"""A model as Hugging Face's config.json has it, turned into a model file of ours."""
