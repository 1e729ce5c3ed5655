// The official client is a plugin of a host program that is not here. The few things it imports of
// that host are stood in for; everything that speaks to the server is its own code, unchanged.
import { register } from 'node:module';

const source = `
const stubs = {
	'openclaw/plugin-sdk/account-id': {
		normalizeAccountId: "id => id.trim().toLowerCase().replace(/[@.]/g, '-')",
	},
	'openclaw/plugin-sdk/infra-runtime': {
		resolvePreferredOpenClawTmpDir: "() => process.env.TMPDIR",
		withFileLock: "(path, options, run) => run()",
	},
	'openclaw/plugin-sdk/command-auth': {
		resolveSenderCommandAuthorizationWithRuntime: "() => undefined",
		resolveDirectDmAuthorizationOutcome: "() => undefined",
	},
	'openclaw/plugin-sdk/channel-message': { createTypingCallbacks: "() => ({})" },
	'openclaw/plugin-sdk/plugin-runtime': { getGlobalHookRunner: "() => undefined" },
	'openclaw/plugin-sdk/hook-runtime': {
		fireAndForgetHook: "() => undefined", buildCanonicalSentMessageHookContext: "() => undefined",
		toPluginMessageContext: "() => undefined", toPluginMessageSentEvent: "() => undefined",
	},
};
export async function resolve(name, context, next) {
	if (!stubs[name])
		return next(name, context);
	const text = Object.entries(stubs[name]).map(([k, v]) => 'export const ' + k + ' = ' + v + ';').join('\\n');
	return { url: 'data:text/javascript,' + encodeURIComponent(text), shortCircuit: true };
}
`;
register('data:text/javascript,' + encodeURIComponent(source));
