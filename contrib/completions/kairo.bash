# bash completion for kairo(1)

# The settings, as this account's kairo lists them.
_kairo_keys() {
	"${COMP_WORDS[0]}" "$@" config list 2>/dev/null | sed -n 's/^\([a-z_.]*\) = .*/\1/p'
}

# A key that has a file is set by itself, too, and kept there.
_kairo_settable() {
	_kairo_keys "$@" | sed -n 'p; s/_key_file$/_key/p'
}

_kairo_values() {
	case $1 in
	engine) echo react acp ;;
	acp.hooks) echo ask on off ;;
	model.vision) echo auto on off ;;
	acp.preset) echo kimi claude codex gemini qwen opencode pi ;;
	language) echo auto zh en ;;
	render_mode) echo native plain ;;
	log_level) echo error warn info debug ;;
	sandbox.mode) echo best required ;;
	policy.shell) echo deny allowlist ask ;;
	policy.write | policy.web) echo allow ask deny ;;
	model.provider) echo kimi deepseek zhipu step xfyun openai siliconflow ollama llamacpp ;;
	model.stream | acp.fs | acp.terminal | acp.strict | network.allow_loopback | network.allow_fake_ip | ilink.cdn_direct) echo true false ;;
	*_key) ;;
	workspace | *_file) compgen -f -- "$2" ;;
	esac
	echo --stdin
}

_kairo() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i word
	local commands="run start stop restart status logs audit login logout doctor config hooks ask send version help"
	local account=() args=() words=
	COMPREPLY=()

	# What stands before the cursor: the account, then the command and its arguments. Bash takes
	# --account=NAME for three words.
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [ "$word" = --account ]; then
			[ "${COMP_WORDS[i + 1]}" != = ] || ((i++))
			((++i < COMP_CWORD)) && account=(--account "${COMP_WORDS[i]}")
		else
			args+=("$word")
		fi
	done

	if [ "$prev" = --account ] || { [ "$prev" = = ] && [ "${COMP_WORDS[COMP_CWORD - 2]}" = --account ]; }; then
		words=$(cd "${KAIRO_HOME:-$HOME/.kairo}/accounts" 2>/dev/null && ls)
	elif [ "${#args[@]}" -eq 0 ]; then
		words="$commands --account --help --version"
	else
		case ${args[0]} in
		status) words=--json ;;
		doctor) words=--engine ;;
		hooks) words="status install remove" ;;
		logs) [ "$prev" = -n ] || words="-n -f" ;;
		audit) [ "$prev" = -n ] || words="-n --json" ;;
		login)
			case $prev in
			--import) words=$(compgen -d -- "$cur") ;;
			--base-url) ;;
			*) words="--force --base-url --import" ;;
			esac
			;;
		send)
			case $prev in
			--to) ;;
			--file) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
			*) words="--file --to" ;;
			esac
			;;
		help) [ "${#args[@]}" -gt 1 ] || words=$commands ;;
		config)
			case ${#args[@]}:${args[1]-} in
			1:) words="list get set unset" ;;
			2:get | 2:unset) words=$(_kairo_keys "${account[@]}") ;;
			2:set) words=$(_kairo_settable "${account[@]}") ;;
			3:set) words=$(_kairo_values "${args[2]}" "$cur") ;;
			esac
			;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _kairo kairo
