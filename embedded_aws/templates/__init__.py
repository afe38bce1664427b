"""CloudFormation's template language: templates read, checked and evaluated; nothing is made."""
