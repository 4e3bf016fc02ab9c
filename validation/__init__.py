"""Five layers of sanitation, schemas and gates between the stages of the graph."""
