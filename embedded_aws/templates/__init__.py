"""CloudFormation's template language: parsing, checking and evaluating templates."""
