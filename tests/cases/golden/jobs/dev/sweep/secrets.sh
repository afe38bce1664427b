#!/bin/bash
# Sourced by a batch script: reads the job's secrets from Secrets Manager, with this node's role.
# They become variables of its processes, and are in no file, no log and no queue.
# SLURMPOD_SECRETS lists them: NAME=ARN, separated by blanks.
for named in $SLURMPOD_SECRETS; do
    arn=${named#*=}
    region=${arn#*:*:*:}
    secret=$(aws secretsmanager get-secret-value --region "${region%%:*}" --secret-id "$arn" \
        --query SecretString --output text) || secret=None
    if [[ $secret == None ]]; then
        echo "${named%%=*} cannot be read from Secrets Manager, or is not text: $arn" >&2
        echo "the role of workers may read the secrets listed under identity.job_secrets" >&2
        exit 1
    fi
    export "${named%%=*}=$secret"
done
unset named arn region secret
