"""Ops on SparseTensors."""
