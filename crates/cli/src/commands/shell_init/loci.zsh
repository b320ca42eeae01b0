# Loci: Alt-G chooses a session and puts the command that resumes it on the command line.
# To bind another key: bindkey '^X^G' loci-pick

loci-pick() {
    local chosen
    zle -I
    chosen=$(command loci pick --command -- "$BUFFER" </dev/tty) && {
        BUFFER=$chosen
        CURSOR=${#BUFFER}
    }
    zle reset-prompt
}

if [[ -o interactive ]]; then
    zle -N loci-pick
    bindkey -M emacs '^[g' loci-pick
    bindkey -M viins '^[g' loci-pick
fi
