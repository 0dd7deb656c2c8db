_toolcrib() {
    local IFS=$'\013' rest=${COMP_LINE:0:COMP_POINT} words=() at=-1 word begun='' i
    local answer offered=() quoted
    local _CLAP_COMPLETE_SPACE=true
    compopt +o nospace 2> /dev/null && _CLAP_COMPLETE_SPACE=false
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)) && [[ $word != :* ]]; then
            word=$2
        fi
        # Words with no space between them are one word that was broken at a colon.
        if ((at >= 0)) && [[ $rest != [[:space:]]* ]] && [[ $word == :* || ${words[at]} == *: ]]; then
            words[at]+=$word
        else
            words[++at]=$word
        fi
        rest=${rest#"${rest%%[![:space:]]*}"}
        rest=${rest#"${COMP_WORDS[i]}"}
    done
    for ((i = 0; i <= at; i++)); do
        # The program is asked with the words that the shell would hand over, without their backslashes.
        [[ ${words[i]} != *\\* ]] || IFS= read -d '' word <<< "${words[i]}" || words[i]=${word%$'\n'}
    done
    COMPREPLY=()
    answer=$( \
        _CLAP_IFS="$IFS" \
        _CLAP_COMPLETE_INDEX="$at" \
        _CLAP_COMPLETE_COMP_TYPE="${COMP_TYPE-}" \
        _CLAP_COMPLETE_SPACE="$_CLAP_COMPLETE_SPACE" \
        @VARIABLE@=bash \
        @PROGRAM@ -- "${words[@]}" \
    ) || return
    read -r -d '' -a offered < <(printf '%s' "$answer")
    if [[ $COMP_WORDBREAKS == *:* && ${words[at]} == *:* ]]; then
        begun=${words[at]%"${words[at]##*:}"}
    fi
    for word in "${offered[@]}"; do
        word=${word#"$begun"}
        # A name is not ours: what the shell would not take as it stands is quoted, and left out where a quote is open.
        printf -v quoted %q "$word"
        if [[ $quoted == "$word" || ${COMP_WORDS[COMP_CWORD]} != *[\"\']* ]]; then
            COMPREPLY+=("$quoted")
        fi
    done
    if [[ $_CLAP_COMPLETE_SPACE == false && "${COMPREPLY-}" =~ [=/:]$ ]]; then
        compopt -o nospace
    fi
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _toolcrib toolcrib
else
    complete -o nospace -o bashdefault -F _toolcrib toolcrib
fi
