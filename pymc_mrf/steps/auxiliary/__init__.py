"""Steps by auxiliary data: `Exchange` and `AuxiliaryVariableMH`."""
