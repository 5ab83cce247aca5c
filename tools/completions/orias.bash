# Completion in bash for orias and its companions; the words are those of --help, --list-phases and --list-knobs.

# The options that `$1 --help` lists: `--name`, and `-n` where it stands beside one.
_orias_options() {
  "$1" --help 2>/dev/null | grep -oE '(^|[[:space:](])--?[A-Za-z][A-Za-z0-9-]*' | tr -d ' (' | sort -u
}

_orias_phases() {
  orias --list-phases 2>/dev/null | awk '$1 ~ /^M?[0-9]+[a-z]?$/ { print $1; print $2 }'
}

# The values that `--help` shows between < and > with bars between them.
_orias_choices() {
  "$1" --help 2>/dev/null | sed -nE "s/^$2 <([^>]*\|[^>]*)>.*/\1/p" | tr '|' '\n'
}

_orias() {
  local current previous words
  COMPREPLY=()
  # Bash breaks words at '='; what stands before it is the option.
  current=${COMP_WORDS[COMP_CWORD]}
  previous=${COMP_WORDS[COMP_CWORD - 1]}
  if [[ $current == '=' ]]; then
    current=
  elif [[ $previous == '=' && $COMP_CWORD -ge 2 ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi

  case $previous in
  --dump-after | --dump-before | --disable-phase | --stop-after | --from-phase) words=$(_orias_phases) ;;
  --knob) words=$(orias --list-knobs 2>/dev/null | awk 'NR > 1 { print $1 "=" }') ;;
  -arch | --gpu-name) words='sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a compute_75 compute_80 compute_86 compute_87 compute_88 compute_89 compute_90 compute_90a' ;;
  --*) words=$(_orias_choices "$1" "$previous") ;;
  esac
  if [[ -z $words && $current == -* ]]; then
    words=$(_orias_options "$1")
  fi
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
  fi
  compopt -o default
}

complete -F _orias orias orias-run orias-dis orias-reduce orias-lab
