// The official client logs in, polls, sends, types, and moves files against kairo-sim, over TLS.
import assert from 'node:assert/strict';
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
const waitFor = (what, count) => control(`wait?what=${what}&count=${count}&ms=20000`);
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
	async 'sends a file and a picture that the phone opens'() {
		const file = path.join(process.env.TMPDIR, 'hello.txt');
		fs.writeFileSync(file, 'hello ilink');
		const opts = { ...account, contextToken: account.context };
		const target = { filePath: file, toUserId: account.user, opts, cdnBaseUrl: sim.cdn };
		const asFile = await upload.uploadFileAttachmentToWeixin(target);
		await send.sendFileMessageWeixin({ to: account.user, text: 'here', fileName: 'hello.txt', uploaded: asFile, opts });
		const asImage = await upload.uploadFileToWeixin(target);
		await send.sendImageMessageWeixin({ to: account.user, text: '', uploaded: asImage, opts });
		const media = (await control('sent')).sent.filter(d => d.media);
		assert.deepEqual(media.map(d => d.media_state), ['opens', 'opens']);
		const plain = await (await fetchReal(`${sim.control}/control/media?id=${media[0].media}`)).text();
		assert.equal(plain, 'hello ilink');
	},
	async 'retries an upload that the CDN fails twice'() {
		const file = path.join(process.env.TMPDIR, 'hello.txt');
		await control('fault', { endpoint: 'cdn_upload', kind: '500', times: 1 });
		await control('fault', { endpoint: 'cdn_upload', kind: 'no_param', times: 1 });
		const up = await upload.uploadFileAttachmentToWeixin({ filePath: file, toUserId: account.user, opts: account, cdnBaseUrl: sim.cdn });
		assert.ok(up.downloadEncryptedQueryParam);
	},
	async 'fetches and decrypts what the person sends'() {
		await control('inject', { media: { kind: 'file', name: 'a.txt', text: 'from the phone' } });
		const got = await api.getUpdates({ ...account, get_updates_buf: account.cursor });
		const media = got.msgs[0].item_list[0].file_item.media;
		const plain = await cdn.downloadAndDecryptBuffer(media.encrypt_query_param, media.aes_key, sim.cdn, 'test', media.full_url);
		assert.equal(plain.toString(), 'from the phone');
		const built = await cdn.downloadAndDecryptBuffer(media.encrypt_query_param, media.aes_key, sim.cdn, 'test');
		assert.equal(built.toString(), 'from the phone');
		Object.assign(account, { cursor: got.get_updates_buf, context: got.msgs[0].context_token });
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
