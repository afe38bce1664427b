#!/bin/bash
echo on_create
