# Loci: Alt-G chooses a session and puts the command that resumes it on the command line.
# To bind another key: bind -x '"\C-x\C-g": __loci_pick'

__loci_pick() {
    local chosen
    chosen=$(command loci pick --command -- "$READLINE_LINE") || return
    READLINE_LINE=$chosen
    READLINE_POINT=${#chosen}
}

if [[ $- == *i* ]]; then
    bind -m emacs -x '"\eg": __loci_pick'
    bind -m vi-insert -x '"\eg": __loci_pick'
fi
