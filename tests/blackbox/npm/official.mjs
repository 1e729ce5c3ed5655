// The official client logs in, polls, sends, types, and moves files against kairo-sim, over TLS.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const sim = JSON.parse(process.env.SIM);
const root = path.join(process.env.PACKAGES, 'node_modules/@tencent-weixin/openclaw-weixin/dist/src');
const load = name => import(pathToFileURL(path.join(root, name)));

// Its login host is fixed in its code; here that name leads to the simulator. Nothing else may be asked.
const fetchReal = globalThis.fetch;
globalThis.fetch = (url, options) => {
	const here = String(url).replace('https://ilinkai.weixin.qq.com', sim.api);
	assert.equal(new URL(here).hostname, '127.0.0.1', 'the client asked elsewhere: ' + here);
	return fetchReal(here, options);
};
const control = async (name, body) => {
	const answer = await fetchReal(sim.control + '/control/' + name, body && { method: 'POST', body: JSON.stringify(body) });
	const json = await answer.json();
	assert.ok(answer.ok, name + ': ' + json.error);
	return json;
};
const waitFor = (what, count) => control(`wait?what=${what}&count=${count}&ms=120000`);
const count = async what => (await control('state')).counts[what];
const quietly = async run => {      // it writes QR codes and progress to its standard output
	const write = process.stdout.write;
	process.stdout.write = () => true;
	try { return await run(); } finally { process.stdout.write = write; }
};

const api = await load('api/api.js');
const login = await load('auth/login-qr.js');
const accounts = await load('auth/accounts.js');
const send = await load('messaging/send.js');
const upload = await load('cdn/upload.js');
const cdn = await load('cdn/pic-decrypt.js');
const media = await load('media/media-download.js');
const sendMedia = await load('messaging/send-media.js');
const partial = await load('messaging/partial-quote.js');
const inbound = await load('messaging/inbound.js');

const samples = fs.readdirSync(process.env.SAMPLES).map(name => path.join(process.env.SAMPLES, name));
const sha256 = data => crypto.createHash('sha256').update(data).digest('hex');
async function poll() {
	const got = await api.getUpdates({ ...account, get_updates_buf: account.cursor });
	Object.assign(account, { cursor: got.get_updates_buf, context: got.msgs.at(-1).context_token });
	return got.msgs;
}
// A file from the phone, as the client keeps it.
async function received(spec) {
	const made = (await control('inject', { media: spec })).messages[0];
	let kept;
	await media.downloadMediaFromItem((await poll())[0].item_list[0], { cdnBaseUrl: sim.cdn, label: 'test', log: () => {}, errLog: e => { throw new Error(e); },
		saveMedia: async data => { kept = data; return { path: 'kept' }; } });
	return { made, kept };
}

async function logIn(during) {
	const started = await login.startWeixinLoginWithQr({ force: true });
	assert.ok(started.qrcodeUrl, started.message);
	const ended = login.waitForWeixinLogin({ sessionKey: started.sessionKey, timeoutMs: 60000 });
	await during?.();
	return ended;
}
const phone = async () => {
	await control('scan', {});
	await control('confirm', {});
};

const steps = {
	async 'logs in by QR code'() {
		const done = await logIn(phone);
		assert.equal(done.connected, true, done.message);
		assert.match(done.accountId, /^[0-9a-f]{12}@im\.bot$/);
		assert.equal(done.baseUrl, sim.api);
		assert.match(done.userId, /@im\.wechat$/);
		globalThis.account = { baseUrl: done.baseUrl, token: done.botToken, user: done.userId, id: done.accountId };
	},
	async 'types the number that the phone shows, once wrongly'() {
		await control('login', { verify_code: '42' });
		const answers = ['7\n', '42\n'];
		const feed = setInterval(() => {
			if (process.stdin.listenerCount('data') && answers.length) process.stdin.emit('data', answers.shift());
		}, 20);
		try {
			const done = await logIn(async () => {
				await control('scan', {});
				for (;;) {          // the button on the phone works once the number was right
					const state = (await control('state')).logins[0];
					if (!state.number) break;
					await waitFor('qrpolls', await count('qrpolls') + 1);
				}
				await control('confirm', {});
			});
			assert.equal(done.connected, true, done.message);
			Object.assign(account, { token: done.botToken, id: done.accountId });
		} finally { clearInterval(feed); }
	},
	async 'follows a redirect to another host'() {
		await control('login', { redirect: true });
		const done = await logIn(phone);
		assert.equal(done.connected, true, done.message);
		Object.assign(account, { token: done.botToken, id: done.accountId });
	},
	async 'gives up after three codes have expired'() {
		await control('login', { codes: [['expired'], ['expired'], ['expired']] });
		const done = await logIn();
		assert.equal(done.connected, false);
	},
	async 'is told when it is connected already'() {
		const id = account.id.replace(/[@.]/g, '-');
		accounts.saveWeixinAccount(id, { token: account.token, baseUrl: account.baseUrl, userId: account.user });
		accounts.registerWeixinAccountId(id);
		const done = await logIn(phone);
		assert.equal(done.alreadyConnected, true, done.message);
	},
	async 'starts, polls and keeps its cursor'() {
		assert.equal((await api.notifyStart(account)).ret, 0);
		const nothing = await api.getUpdates({ ...account, get_updates_buf: '' });
		assert.deepEqual(nothing.msgs, []);
		const made = (await control('inject', { text: '你好 {n}', count: 2 })).messages;
		const got = await api.getUpdates({ ...account, get_updates_buf: nothing.get_updates_buf });
		assert.deepEqual(got.msgs.map(m => m.message_id), made.map(m => m.id), 'ids keep all their digits');
		assert.deepEqual(got.msgs.map(m => m.item_list[0].text_item.text), ['你好 1', '你好 2']);
		Object.assign(account, { cursor: got.get_updates_buf, context: got.msgs[1].context_token });
	},
	async 'hears at once of a message while it polls'() {
		await control('set', { hold_ms: 30000 });
		const poll = api.getUpdates({ ...account, get_updates_buf: account.cursor });
		await waitFor('polling', 1);
		await control('inject', { text: 'now' });
		const got = await poll;
		assert.equal(got.msgs[0].item_list[0].text_item.text, 'now');
		Object.assign(account, { cursor: got.get_updates_buf, context: got.msgs[0].context_token });
		await control('set', { hold_ms: 300 });
	},
	async 'sends text and learns the id'() {
		await control('set', { answer_shape: 1 });
		const opts = { ...account, contextToken: account.context, runId: 'run-1' };
		const sent = await send.sendMessageWeixin({ to: account.user, text: '**回答**', opts });
		const shown = (await control('sent')).sent;
		assert.equal(shown.length, 1);
		assert.equal(shown[0].text, '**回答**');
		assert.equal(shown[0].client_id, sent.messageId);
		assert.equal(shown[0].message_id, sent.serverMessageId);
	},
	async 'shows that it types, and stops'() {
		const config = await api.getConfig({ ...account, ilinkUserId: account.user, contextToken: account.context });
		assert.equal(config.ret, 0);
		for (const status of [1, 2])
			await api.sendTyping({ ...account, body: { ilink_user_id: account.user, typing_ticket: config.typing_ticket, status } });
		assert.equal(await count('typing'), 1);
		assert.equal(await count('typing_stop'), 1);
	},
	async 'sends files of every kind that the phone opens, unchanged'() {
		await control('set', { quota: 100 });
		const files = [...samples];
		for (const size of [0, 1, 15, 16, 17, 1 << 20]) {
			files.push(path.join(process.env.TMPDIR, `size-${size}.bin`));
			fs.writeFileSync(files.at(-1), crypto.randomBytes(size));
		}
		const before = (await control('sent')).last, opts = { ...account, contextToken: account.context };
		for (const file of files)
			await sendMedia.sendWeixinMediaFile({ filePath: file, to: account.user, text: '', opts, cdnBaseUrl: sim.cdn });
		const shown = (await control('sent?since=' + before)).sent;
		assert.deepEqual(shown.map(d => d.media_state), files.map(() => 'opens'));
		assert.deepEqual(shown.map(d => d.file.sha256), files.map(f => sha256(fs.readFileSync(f))));
		assert.deepEqual(new Set(shown.map(d => d.file.kind)), new Set(['image', 'video', 'file']));
		const plain = await (await fetchReal(`${sim.control}/control/media?id=${shown[0].media}`)).arrayBuffer();
		assert.equal(sha256(Buffer.from(plain)), shown[0].file.sha256);
	},
	async 'sends a caption before its picture'() {
		const before = (await control('sent')).last, opts = { ...account, contextToken: account.context };
		await sendMedia.sendWeixinMediaFile({ filePath: path.join(process.env.SAMPLES, 'a.png'), to: account.user, text: 'look', opts, cdnBaseUrl: sim.cdn });
		assert.deepEqual((await control('sent?since=' + before)).sent.map(d => d.text || d.file.kind), ['look', 'image']);
		await control('set', { quota: 10 });
	},
	async 'uploads by the address that it builds when it is told none'() {
		await control('fault', { endpoint: 'getuploadurl', kind: 'no_full_url' });
		const up = await upload.uploadFileToWeixin({ filePath: samples[0], toUserId: account.user, opts: account, cdnBaseUrl: sim.cdn });
		assert.ok(up.downloadEncryptedQueryParam);
		await control('fault', { endpoint: 'getuploadurl', kind: 'no_url' });
		await assert.rejects(upload.uploadFileToWeixin({ filePath: samples[0], toUserId: account.user, opts: account, cdnBaseUrl: sim.cdn }), /no upload URL/);
	},
	async 'gives up an upload that the CDN refuses, and says its reason'() {
		await control('fault', { endpoint: 'cdn_upload', kind: 'cdn_error', errmsg: 'expired' });
		await assert.rejects(upload.uploadFileToWeixin({ filePath: samples[0], toUserId: account.user, opts: account, cdnBaseUrl: sim.cdn }), /403: expired/);
	},
	async 'retries an upload that the CDN fails twice'() {
		const file = samples[0];
		await control('fault', { endpoint: 'cdn_upload', kind: 'cut_body', bytes: 1 });
		await control('fault', { endpoint: 'cdn_upload', kind: 'no_param', times: 1 });
		const up = await upload.uploadFileAttachmentToWeixin({ filePath: file, toUserId: account.user, opts: account, cdnBaseUrl: sim.cdn });
		assert.ok(up.downloadEncryptedQueryParam);
	},
	async 'fetches and decrypts files of every kind that the person sends'() {
		for (const file of samples) {
			const data = fs.readFileSync(file), data_b64 = data.toString('base64'), name = path.basename(file);
			const kind = /png|jpg|gif|webp|heic/.test(name) ? 'image' : /mp4/.test(name) ? 'video' : /silk/.test(name) ? 'voice' : 'file';
			for (const key_form of kind === 'image' ? ['hex', 'raw', 'aeskey', 'none'] : ['hex', 'raw']) {
				const { made, kept } = await received({ kind, name, data_b64, key_form });
				assert.equal(sha256(kept), sha256(data), name + ' ' + key_form);
				assert.equal(made.file.sha256, sha256(data), name);
			}
		}
		for (const size of [0, 1, 15, 16, 17, 1 << 20]) {
			const { made, kept } = await received({ kind: 'file', name: 'a', size });
			assert.deepEqual([kept.length, sha256(kept)], [size, made.file.sha256]);
		}
	},
	async 'fetches by the address that it builds'() {
		await control('inject', { media: { kind: 'file', name: 'a.txt', text: 'from the phone' } });
		const m = (await poll())[0].item_list[0].file_item.media;
		const built = await cdn.downloadAndDecryptBuffer(m.encrypt_query_param, m.aes_key, sim.cdn, 'test');
		assert.equal(built.toString(), 'from the phone');
	},
	async 'keeps nothing of a broken download'() {
		for (const fault of [{ kind: 'bad_padding' }, { kind: 'cut', bytes: 8 }, { kind: 'cdn_error', status: 404 }]) {
			await control('fault', { endpoint: 'cdn_download', ...fault });
			await assert.rejects(received({ kind: 'file', name: 'a.txt', text: 'from the phone' }), fault.kind);
		}
	},
	async 'finds what is quoted, and the part of it'() {
		const text = '早上好，今天天气不错。早上好，明天也不错。';
		const first = (await control('inject', { text })).messages[0];
		await poll();
		const context = async quote => {
			await control('inject', { text: 'this?', quote: { of: first.id, ...quote } });
			const m = (await poll())[0], ref = m.item_list[0].ref_msg;
			return [inbound.weixinMessageToMsgContext(m, account.id), ref.partial_text && partial.resolvePartialQuote(text, ref.partial_text)];
		};
		for (let i = 0; i < 2; i++)          // as a number and as a string
			for (const style of ['svr_id', 'msg_id'])
				assert.equal((await context({ style }))[0].ReplyToId, first.id);
		assert.equal((await context({ style: 'inline' }))[0].ReplyToBody, `${text} | ${text}`);
		for (const [part, nth] of [['明天也不错', 0], ['早上好', 1], ['。', 1], [text.slice(0, 11), 0]])
			for (const index of part.length > 1 ? ['global', 'relative'] : ['global'])
				assert.deepEqual((await context({ part, nth, index }))[1], { resolved: part, fallback: false }, part + ' ' + index);
		assert.equal((await context({ part: '好，明天', md5: false }))[1].resolved, '好，明天');
	},
	async 'takes a refusal for one'() {
		await control('set', { quota: 1 });
		const opts = { ...account, contextToken: account.context };
		await send.sendMessageWeixin({ to: account.user, text: 'last', opts });
		await assert.rejects(send.sendMessageWeixin({ to: account.user, text: 'too many', opts }), /ret=-2/);
	},
	async 'is told when its token is void'() {
		await api.notifyStop(account);
		await control('revoke', {});
		const got = await api.getUpdates({ ...account, get_updates_buf: account.cursor });
		assert.equal(got.errcode, -14);
	},
	async 'has broken no rule in all this'() {
		assert.deepEqual((await control('violations')).violations, []);
	},
};

let failed = 0;
for (const [name, run] of Object.entries(steps)) {
	try {
		await quietly(run);
		console.log('ok   ' + name);
	} catch (error) {
		failed++;
		console.log('FAIL ' + name + '\n' + (error.stack || error));
	}
}
process.exit(failed ? 1 : 0);
