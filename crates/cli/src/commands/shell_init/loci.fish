# Loci: Alt-G chooses a session and puts the command that resumes it on the command line.
# To bind another key: bind \cx\cg __loci_pick

function __loci_pick --description 'Choose a session'
    set -l chosen (command loci pick --command -- (commandline))
    and commandline --replace -- $chosen
    commandline --function repaint
end

if status is-interactive
    bind \eg __loci_pick
    bind -M insert \eg __loci_pick
end
