# Sourced by the inner zsh of complete.zsh: FOLDER_OF_FUNCTIONS FILE
PROMPT=
unsetopt zle_bracketed_paste 2>/dev/null
fpath=($1 $fpath)
offered=$2
autoload -Uz compinit
compinit -u -D
bindkey '^I' complete-word
zstyle ':completion:*' verbose yes

# Calls that only fill arrays go through; all others leave what matches in the file.
compadd() {
  local -a words options
  options=("${(@)@[1,(i)(-|--)]}")
  if [[ -z ${(M)options:#-[a-zA-Z]#[OAD]} ]] ; then
    builtin compadd -A words "$@"
    print -rl -- $words >> $offered
  fi
  builtin compadd "$@"
}
tell() { : > $offered.done; }
comppostfuncs=(tell)
: > $offered.ready
