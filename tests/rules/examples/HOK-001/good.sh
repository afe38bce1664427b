#!/bin/bash
modprobe nvidia-peermem
