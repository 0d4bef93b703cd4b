# Writes what zsh would complete: complete.zsh FOLDER_OF_FUNCTIONS LINE FILE
#
# A zsh of its own, behind a pseudo terminal, gets the line and a Tab. What its completion system
# offers goes into a file, because a terminal shows it in columns.
zmodload zsh/zpty || exit 1
folder=$1 line=$2 offered=$3

zpty inner zsh -f -i
zpty -w inner "source ${(q)0:A:h}/complete_inner.zsh ${(q)folder} ${(q)offered}"
repeat 200; do
  [[ -e $offered.ready ]] && break
  sleep 0.05
done
zpty -w -n inner "$line"$'\t'
repeat 200; do
  [[ -e $offered.done ]] && break
  sleep 0.05
done
[[ -e $offered.done ]] || { print -u2 "zsh completed nothing in time"; exit 1 }
zpty -d inner
