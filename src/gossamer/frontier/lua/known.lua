-- Whether a fingerprint was accepted. args: {fingerprint, the same as a number}.

return is_known(args[1], args[2]) and 1 or 0
