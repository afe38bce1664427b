#!/bin/bash
# Sourced by a batch script: asks Secrets Manager for the job's secrets, as the role of this node.
# They become variables of its processes, and stand in no file, no log and no queue.
# SLURMPOD_SECRETS says which: NAME=ARN, with blanks between.
for named in $SLURMPOD_SECRETS; do
    arn=${named#*=}
    region=${arn#*:*:*:}
    secret=$(aws secretsmanager get-secret-value --region "${region%%:*}" --secret-id "$arn" \
        --query SecretString --output text) || secret=None
    if [[ $secret == None ]]; then
        echo "${named%%=*} cannot be read from Secrets Manager, or is no text: $arn" >&2
        echo "the role of workers may read what stands under identity.job_secrets" >&2
        exit 1
    fi
    export "${named%%=*}=$secret"
done
unset named arn region secret
