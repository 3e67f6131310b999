#!/bin/sh
echo "todo: not written yet" >&2
exit 1
