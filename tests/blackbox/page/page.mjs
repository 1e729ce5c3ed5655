// The phone page in headless Chromium: what a person sees and does.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import { attach, browser, complaints, control, open, picture, runSteps, sample, sees, seesText, sim, strangers, timeout, until } from './browser.mjs';

// --- A bot at the other end -----------------------------------------------------------------------
const bot = { token: null, user: null, cursor: '', context: null, n: 0 };
async function ask(endpoint, body) {
	const uin = Buffer.from(String(Math.floor(Math.random() * 4294967295))).toString('base64');
	const answer = await fetch(sim.api + '/ilink/bot/' + endpoint, {
		method: body ? 'POST' : 'GET',
		headers: { 'iLink-App-Id': 'bot', 'iLink-App-ClientVersion': '132105',
			...(body && { 'Content-Type': 'application/json', AuthorizationType: 'ilink_bot_token', 'X-WECHAT-UIN': uin }),
			...(bot.token && { Authorization: 'Bearer ' + bot.token }) },
		body: body && JSON.stringify({ ...body, ...(bot.token && { base_info: { channel_version: '2.4.9', bot_agent: 'Kairo/0.1.0' } }) }),
	});
	// Ids are beyond what a number holds here.
	return JSON.parse((await answer.text()).replace(/"(message_id|msg_id|svr_id)":(\d+)/g, '"$1":"$2"'));
}
async function fetchMessages() {
	const got = await ask('getupdates', { get_updates_buf: bot.cursor });
	bot.cursor = got.get_updates_buf || bot.cursor;
	for (const m of got.msgs || []) bot.context = m.context_token;
	return got.msgs || [];
}
const send = item => ask('sendmessage', { msg: { from_user_id: '', to_user_id: bot.user, client_id: 'p-' + ++bot.n,
	message_type: 2, message_state: 2, context_token: bot.context, item_list: [item] } });
const reply = text => send({ type: 1, text_item: { text } });
const md5 = data => crypto.createHash('md5').update(data).digest('hex');
async function replyFile(plain, name, type = 4) {
	const key = crypto.randomBytes(16), cipher = crypto.createCipheriv('aes-128-ecb', key, null);
	const body = Buffer.concat([cipher.update(plain), cipher.final()]);
	const grant = await ask('getuploadurl', { filekey: crypto.randomBytes(16).toString('hex'), media_type: { 2: 1, 4: 3, 5: 2 }[type], to_user_id: bot.user,
		rawsize: plain.length, rawfilemd5: md5(plain), filesize: body.length, no_need_thumb: true, aeskey: key.toString('hex'), context_token: bot.context });
	const up = await fetch(grant.upload_full_url, { method: 'POST', body, headers: { 'Content-Type': 'application/octet-stream' } });
	const media = { encrypt_query_param: up.headers.get('x-encrypted-param'), aes_key: Buffer.from(key.toString('hex')).toString('base64'), encrypt_type: 1 };
	await send({ 2: { type, image_item: { media, mid_size: body.length } }, 5: { type, video_item: { media, video_size: body.length } },
		4: { type, file_item: { media, file_name: name, len: String(plain.length) } } }[type]);
}

// --- The page -------------------------------------------------------------------------------------
const bubbles = page => page.$$eval('.row:not(#typing-row) .bubble', list => list.map(b => b.innerText.trim()));
const lastBubble = (page, n) => sees(page, k => document.querySelectorAll('.row.bot:not(#typing-row) .bubble').length >= k, n);
async function replyAndSee(page, text) {
	const before = await page.$$eval('.row.bot:not(#typing-row) .bubble', l => l.length);
	await control('inject', { text: 'next' });
	await fetchMessages();
	await reply(text);
	await lastBubble(page, before + 1);
	return page.evaluateHandle(() => [...document.querySelectorAll('.row.bot:not(#typing-row) .bubble')].pop());
}
// A node as nested tags and texts, as in "p(a strong(b))".
const shape = handle => handle.evaluate(function walk(e) {
	const name = e.className === 'bubble' || e.className === 'md' ? '' : e.tagName.toLowerCase();
	const inside = [...e.childNodes].map(c => c.nodeType === 3 ? c.data : (walk.self || (walk.self = walk))(c)).join('');
	return name ? name + '(' + inside + ')' : inside;
});

let page;
const steps = {
	async 'asks for kairo login when there is no code'() {
		page = await open('en-US');
		await seesText(page, 'kairo login');
	},
	async 'shows the QR code, and logs in by Scan and Confirm'() {
		const code = await ask('get_bot_qrcode?bot_type=3', { local_token_list: [] });
		await sees(page, () => document.querySelector('#qr-img').naturalWidth > 0 && document.querySelector('#qr-img').offsetWidth > 150);
		await picture(page, 'login');
		assert.equal(await page.$eval('#login-act', b => b.innerText), 'Scan');
		await page.click('#login-act');
		await seesText(page, 'Confirm');
		await page.click('#login-act');
		const done = await until(async () => {
			const answer = await ask('get_qrcode_status?qrcode=' + code.qrcode);
			return answer.status !== 'scaned' && answer;
		}, 'the confirmation');
		assert.equal(done.status, 'confirmed');
		Object.assign(bot, { token: done.bot_token, user: done.ilink_user_id });
		await ask('msg/notifystart', {});
		await sees(page, () => document.querySelector('#login').hidden);
	},
	async 'sends what is written, by Enter and by the button'() {
		await page.type('#text', 'hello');
		await page.keyboard.press('Enter');
		await page.type('#text', 'second');
		await page.click('#send');
		await sees(page, () => document.querySelectorAll('.row.me').length === 2);
		assert.deepEqual(await bubbles(page), ['hello', 'second']);
		assert.deepEqual((await fetchMessages()).map(m => m.item_list[0].text_item.text), ['hello', 'second']);
		assert.equal(await page.$eval('#text', t => t.value), '');
	},
	async 'breaks the line by Shift+Enter and sends nothing while a word is composed'() {
		await page.type('#text', 'a');
		await page.keyboard.down('Shift');
		await page.keyboard.press('Enter');
		await page.keyboard.up('Shift');
		await page.type('#text', 'b');
		assert.equal(await page.$eval('#text', t => t.value), 'a\nb');
		await page.$eval('#text', t => t.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true })));
		assert.equal(await page.$eval('#text', t => t.value), 'a\nb');
		await page.$eval('#text', t => { t.value = ' \n '; t.oninput(); });
		assert.equal(await page.$eval('#send', b => b.disabled), true);
		await page.$eval('#text', t => { t.value = ''; t.oninput(); });
	},
	async 'says so when nobody fetches a message'() {
		await control('inject', { text: 'is anybody there' });
		await seesText(page, 'is kairo running?');
		await fetchMessages();
		await sees(page, () => !document.body.innerText.includes('is kairo running?'));
	},
	async 'shows typing, and stops'() {
		const { typing_ticket } = await ask('getconfig', { ilink_user_id: bot.user, context_token: bot.context });
		await control('set', { typing_show_ms: 10 * timeout });
		await ask('sendtyping', { ilink_user_id: bot.user, typing_ticket, status: 1 });
		await sees(page, () => document.querySelector('#typing-row') && document.querySelector('#title').innerText === 'Typing…');
		await ask('sendtyping', { ilink_user_id: bot.user, typing_ticket, status: 2 });
		await sees(page, () => !document.querySelector('#typing-row') && document.querySelector('#title').innerText === 'Kairo');
	},
	async 'renders the Markdown that the phone renders'() {
		for (const [text, want] of [
			['plain', 'p(plain)'],
			['**b** *i* ~~s~~ `c`', 'p(strong(b) em(i) del(s) code(c))'],
			['# one\n#### four\n##### five', 'h1(one)h4(four)p(##### five)'],
			['- a\n- b\n  - c\n\ntext', 'ul(li(p(a))li(p(b)ul(li(p(c)))))p(text)'],
			['3. a\n4. b', 'ol(li(p(a))li(p(b)))'],
			['> q\n> r', 'blockquote(p(qbr()r))'],
			['```c\nint a_b_c;\n<b>\n```\nafter', 'pre(code(int a_b_c;\n<b>))p(after)'],
			['````\n```\n````', 'pre(code(```))'],
			['| a | b |\n|---|---|\n| 1 | 2\\|3 |', 'div(table(tr(th(a)th(b))tr(td(1)td(2|3))))'],
			['a | b in prose', 'p(a | b in prose)'],
			['[t](https://a.example/x_(y))', 'p(a(t))'],
			['https://a.example/b_c_d。', 'p(a(https://a.example/b_c_d)。)'],
			['---', 'hr()'],
			// its oddities
			['a_b_c.txt', 'p(aem(b)c.txt)'],
			['1 < 2 is lost\nkept', 'p(1 br()kept)'],
			['&lt; \\*', 'p(&lt; \\*)'],
			['** no ** and * no *', 'p(** no ** and * no *)'],
			['一段**重点**文字', 'p(一段strong(重点)文字)'],
			['unclosed `code and **bold', 'p(unclosed `code and **bold)'],
		])
			assert.equal(await shape(await replyAndSee(page, text)), want, text);
		assert.equal(await page.$eval('.md ol', l => l.start), 3);
		assert.equal(await page.$eval('.md a', a => a.rel), 'noopener noreferrer');
	},
	async 'makes nothing but text of hostile text'() {
		await page.evaluate(() => { window.harmed = false; });
		for (const text of ['x <img src=x onerror="window.harmed=true">', '`<script>window.harmed=true</script>`',
			'[x](javascript:window.harmed=true)', '![x](https://evil.example/i.png)', '[x](data:text/html,y)',
			'| <img src=x onerror=window.harmed=true> | b |\n|---|---|', '[<img src=x>](https://a.example)'])
			await replyAndSee(page, text);
		await control('inject', { text: '<b>mine</b> **plain**' });
		await fetchMessages();
		await seesText(page, '<b>mine</b> **plain**');
		assert.equal(await page.evaluate(() => window.harmed), false);
		assert.equal(await page.$$eval('#chat .bubble img, #chat .bubble script, #chat .bubble iframe', l => l.length), 0);
		assert.equal(await page.$$eval('#chat a', l => l.filter(a => !a.href.startsWith('https://')).length), 0);
	},
	async 'survives what is built to be slow'() {
		const half = 2000;   // parts of up to 4000 characters
		for (const text of ['*a _b '.repeat(660), '['.repeat(half * 2), '`'.repeat(half - 1) + ' ' + '`'.repeat(half - 2), '**a'.repeat(1300),
			'> '.repeat(half), '- '.repeat(half), '|'.repeat(half - 1) + '\n' + '|-'.repeat(1000), 'http://'.repeat(570), '_ _'.repeat(1300),
			' '.repeat(3999) + 'x', '#'.repeat(4000), '1. '.repeat(1300)])
			await replyAndSee(page, text);
	},
	async 'counts replies and says when they run out'() {
		await control('inject', { text: 'more' });
		await fetchMessages();
		for (let i = 0; i < 8; i++) await reply('part ' + i);
		await seesText(page, 'sent 8 of 10');
		assert.match(await page.$eval('#quota-top', e => e.innerText), /^sent 8 of 10 · window 23:5\d$/);
		assert.equal(await page.$eval('#quota-top', e => e.className), 'low');
		for (let i = 8; i < 11; i++) await reply('part ' + i);
		await seesText(page, 'A reply was refused by the server: prepare failed');
		await control('clock', { advance_ms: 24 * 3600 * 1000 });
		await seesText(page, 'window closed');
	},
	async 'keeps its place while one reads further up'() {
		await page.$eval('#chat', c => { c.scrollTop = 0; });
		await sees(page, () => document.querySelector('#chat').scrollTop === 0);
		await page.evaluate(() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))));
		await control('inject', { text: 'from elsewhere' });
		await fetchMessages();
		await sees(page, () => !document.querySelector('#jump').hidden);
		assert.equal(await page.$eval('#chat', c => c.scrollTop), 0);
		await page.click('#jump');
		await sees(page, () => { const c = document.querySelector('#chat'); return c.scrollHeight - c.scrollTop - c.clientHeight < 3; });
	},
	async 'follows though what is above the end grows, as a picture that loads'() {
		await page.evaluate(() => {
			const chat = document.querySelector('#chat');
			chat.lastElementChild.style.paddingBottom = '400px';
			chat.dispatchEvent(new Event('scroll'));
		});
		await control('inject', { text: 'behind the picture' });
		await fetchMessages();
		await seesText(page, 'behind the picture');
		await sees(page, () => { const c = document.querySelector('#chat'); return c.scrollHeight - c.scrollTop - c.clientHeight < 3; });
		assert.equal(await page.$eval('#jump', e => e.hidden), true);
	},
	async 'offers shortcuts and files'() {
		await page.click('#plus');
		const names = await page.$$eval('#plus-panel button', l => l.map(b => b.innerText));
		assert.ok(names.includes('/stop') && names.includes('hello') && names.includes('Picture, file'));
		await page.evaluate(() => [...document.querySelectorAll('#plus-panel button')].find(b => b.innerText === '/stop').click());
		const got = await sees(page, () => [...document.querySelectorAll('.row.me .bubble')].pop().innerText === '/stop').then(fetchMessages);
		assert.equal(got.pop().item_list[0].text_item.text, '/stop');
	},
	async 'sends pictures and files, each by itself, and the words after them'() {
		await control('inject', { text: 'more' });
		await fetchMessages();
		await attach(page, 'turned.jpg', 'a.pdf', 'a.mp4');
		await sees(page, () => document.querySelector('.staged img').naturalWidth > 0);
		await page.type('#text', 'what are these?');
		await picture(page, 'staged');
		await page.click('#send');
		await sees(page, () => [...document.querySelectorAll('.row.me .bubble')].pop().innerText === 'what are these?');
		assert.equal(await page.$('.staged'), null);
		const got = await fetchMessages();
		assert.deepEqual(got.map(m => m.item_list[0].type), [2, 4, 5, 1]);
		assert.equal(got[1].item_list[0].file_item.file_name, 'a.pdf');
		const mine = (await control('chat')).chat.filter(e => e.file).slice(-3);
		for (const [k, name] of ['turned.jpg', 'a.pdf', 'a.mp4'].entries())
			assert.equal(mine[k].file.sha256, crypto.createHash('sha256').update(fs.readFileSync(sample(name))).digest('hex'), name);
		// The picture shows turned as its EXIF says: 64 by 48 stand upright.
		await sees(page, () => { const i = [...document.querySelectorAll('.row.me .picture')].pop(); return i.naturalWidth === 48 && i.naturalHeight === 64; });
		const gap = await page.$$eval('.row.me .picture', l => l.at(-1).closest('.row').querySelector('.avatar').getBoundingClientRect().left - l.at(-1).getBoundingClientRect().right);
		assert.ok(gap >= 0 && gap < 20, 'it stands beside its sender');
		assert.deepEqual(await page.$$eval('.row.me .file', l => l.slice(-2).map(a => a.innerText.replace(/\s+/g, ' ').trim())), ['a.pdf 544 B', 'Video 184 B']);
	},
	async 'takes what is dropped or pasted, and lets go of it again'() {
		const hand = (how, names) => page.evaluate((h, list) => {
			const data = new DataTransfer();
			for (const n of list) data.items.add(new File(['x'.repeat(10)], n, { type: 'text/plain' }));
			if (h === 'paste') document.querySelector('#text').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
			else for (const kind of ['dragover', 'drop']) document.querySelector('#chat').dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
		}, how, names);
		await hand('paste', ['pasted.txt']);
		await hand('drop', ['dropped.txt', 'other.txt']);
		assert.equal(await page.$eval('#phone', p => p.className), '');
		assert.deepEqual(await page.$$eval('.staged span', l => l.map(e => e.innerText)), ['pasted.txt', 'dropped.txt', 'other.txt']);
		await page.$$eval('.staged .away', l => l[1].click());
		await page.click('#send');
		await sees(page, () => !document.querySelector('.staged') && [...document.querySelectorAll('.row.me .file')].pop().innerText.includes('other.txt'));
		assert.deepEqual((await fetchMessages()).map(m => m.item_list[0].file_item.file_name), ['pasted.txt', 'other.txt']);
		await hand('drop', Array.from({ length: 10 }, (x, i) => i + '.txt'));
		await seesText(page, '9 files at once');
		await page.$$eval('.staged .away', l => l.forEach(b => b.click()));
		assert.equal(await page.$eval('#send', b => b.disabled), true);
	},
	async 'sends a voice, with and without its transcript'() {
		for (const said of ['', 'turn the light on']) {
			await attach(page, 'a.silk');
			if (said) await page.type('.staged input', said);
			await page.click('#send');
			await sees(page, () => !document.querySelector('.staged'));
			const item = (await fetchMessages()).pop().item_list[0];
			assert.deepEqual([item.type, item.voice_item.encode_type, item.voice_item.text], [3, 6, said || undefined]);
		}
		await seesText(page, 'turn the light on');
	},
	async 'quotes a message as new phones do, whole or a part of it'() {
		const cite = (side, k) => page.$$eval(`.row.${side} .cite`, (l, n) => l.at(n).click(), k);
		const quoted = async () => {
			const got = await until(async () => (await fetchMessages()).pop(), 'the message');
			await sees(page, () => document.querySelector('#reply').hidden);
			const item = got.item_list[0];
			return [item.text_item.text, item.ref_msg && item.ref_msg.svr_id, item.ref_msg && item.ref_msg.partial_text];
		};
		await control('inject', { text: 'quote me' });
		await fetchMessages();
		const answer = await reply('one **two** three, two');
		await sees(page, () => [...document.querySelectorAll('.row.bot .bubble')].pop().innerText.startsWith('one two'));
		const last = (await control('chat')).chat.at(-1);
		assert.ok(answer.message_id === undefined || answer.message_id === last.message_id);
		await cite('bot', -1);
		await seesText(page, 'Quoting: one');
		await picture(page, 'quoting');
		await page.type('#text', 'whole');
		await page.keyboard.press('Enter');
		assert.deepEqual(await quoted(), ['whole', last.message_id, undefined]);
		// The second "two", selected by hand.
		await page.evaluate(() => {
			const text = document.evaluate(".//text()[contains(., 'three, two')]", [...document.querySelectorAll('.row.bot .bubble')].pop(), null, 9).singleNodeValue;
			getSelection().setBaseAndExtent(text, text.data.length - 3, text, text.data.length);
		});
		await cite('bot', -1);
		await page.type('#text', 'a part');
		await page.keyboard.press('Enter');
		const part = await quoted();
		assert.deepEqual([part[0], part[1], part[2].start, part[2].startindex, part[2].quotemd5], ['a part', last.message_id, 'tw', 1, md5('two')]);
		await sees(page, () => document.querySelectorAll('.row.me .quoted').length === 2);
		assert.deepEqual(await page.$$eval('.row.me .quoted', l => l.map(q => q.innerText)), ['one **two** three, two', 'two']);
		await page.evaluate(() => getSelection().removeAllRanges());
		const own = (await control('chat')).chat.filter(e => e.dir === 'in').at(-1);
		await cite('me', -1);
		await page.type('#text', 'my own');
		await page.keyboard.press('Enter');
		assert.deepEqual(await quoted(), ['my own', own.id, undefined]);
		await cite('bot', -1);
		await page.click('#reply .away');
		await page.type('#text', 'no quote');
		await page.keyboard.press('Enter');
		assert.deepEqual(await quoted(), ['no quote', undefined, undefined]);
	},
	async 'shows what it receives, to open and to keep'() {
		await control('inject', { text: 'show me' });
		await fetchMessages();
		for (const [k, name] of ['a.png', 'a.gif', 'a.webp', 'a.jpg'].entries()) {
			await replyFile(fs.readFileSync(sample(name)), name, 2);
			await sees(page, n => { const l = document.querySelectorAll('.row.bot .picture'); return l.length === n && l[n - 1].naturalWidth > 0; }, k + 1);
		}
		const opened = browser.waitForTarget(target => target.url().includes('/control/media'), { timeout });
		await page.$$eval('.row.bot a:has(.picture)', l => l[0].click());
		const tab = await (await opened).page();
		await sees(tab, () => { const i = document.images[0]; return i && i.naturalWidth === 32 && i.naturalHeight === 24; });
		await tab.close();
		await page.bringToFront();
		await replyFile(fs.readFileSync(sample('a.heic')), 'a.heic', 2);   // no browser shows it: a card
		await replyFile(fs.readFileSync(sample('a.docx')), '报告.docx');
		await replyFile(fs.readFileSync(sample('a.mp4')), 'a.mp4', 5);
		await sees(page, () => document.querySelectorAll('.row.bot .file').length === 3);
		const cards = await page.$$eval('.row.bot .file', l => l.map(a => [a.innerText.split('\n')[0], a.download, a.getAttribute('href')]));
		assert.deepEqual(cards.map(c => c[0]), ['Picture', '报告.docx', 'Video']);
		assert.equal(cards[1][1], '报告.docx');
		const got = Buffer.from(await page.evaluate(async href => [...new Uint8Array(await (await fetch(href)).arrayBuffer())], cards[1][2]));
		assert.ok(got.equals(fs.readFileSync(sample('a.docx'))));
		await picture(page, 'received');
	},
	async 'is not harmed by hostile names'() {
		await control('inject', { text: 'harm me' });
		await fetchMessages();
		const names = ['<img src=x onerror="window.harmed=true">.txt', '../../etc/passwd', 'a\u202etxt.exe', '..', 'x'.repeat(300), '"><script>window.harmed=true</script>', 'a\nb\tc'];
		for (const name of names) await replyFile(Buffer.from('x'), name);
		await sees(page, n => document.querySelectorAll('.row.bot .file').length === 3 + n, names.length);
		const kept = await page.$$eval('.row.bot .file', l => l.slice(3).map(a => a.download));
		for (const name of kept) assert.match(name, /^[^/\\<>:"|?*\u0000-\u001f\u202a-\u202e.][^/\\<>:"|?*\u0000-\u001f\u202a-\u202e]*$/u);
		assert.equal(await page.evaluate(() => window.harmed), false);
		assert.equal(await page.$$eval('#chat .file img, #chat script', l => l.length), 0);
	},
	async 'fits every phone and gives each control a name'() {
		await attach(page, 'a.silk', 'turned.jpg', 'a.docx');
		await page.$$eval('.row.me .cite', l => l.at(-1).click());
		for (const width of [320, 360, 390, 430, 700, 1200]) {
			await page.setViewport({ width, height: 720 });
			await sees(page, w => innerWidth === w, width);
			const over = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth || [...document.querySelectorAll('#chat, #bar, #tray')].some(e => e.scrollWidth > e.clientWidth));
			assert.equal(over, false, 'too wide at ' + width);
			if (width === 320) await picture(page, 'narrow');
		}
		await page.setViewport({ width: 390, height: 844, deviceScaleFactor: 2 });
		const names = await page.evaluate(() => [...document.querySelectorAll('button, textarea, [role=log]')].filter(e => e.offsetParent)
			.filter(e => !(e.getAttribute('aria-label') || e.innerText.trim() || e.placeholder)).map(e => e.outerHTML.slice(0, 80)));
		assert.deepEqual(names, []);
		assert.equal(await page.$eval('#chat', c => c.getAttribute('aria-live')), 'polite');
		await page.$$eval('.staged .away, #reply .away', l => l.forEach(b => b.click()));
		assert.equal(await page.evaluate(() => document.documentElement.lang), 'en');
	},
	async 'speaks Chinese, and has a dark side'() {
		const light = await page.evaluate(() => getComputedStyle(document.querySelector('#phone')).backgroundColor);
		const other = await open('zh-CN', { dark: true });
		await sees(other, () => document.querySelector('#quota-top').innerText.includes('本轮已发'));
		assert.equal(await other.$eval('#send', b => b.innerText), '发送');
		assert.equal(await other.evaluate(() => document.documentElement.lang), 'zh-CN');
		assert.notEqual(await other.evaluate(() => getComputedStyle(document.querySelector('#phone')).backgroundColor), light);
		await other.close();
		await page.bringToFront();
	},
	async 'begins anew with a new bot'() {
		await control('set', { void_delay_ms: 0 });
		const bound = await control('bind', {});
		Object.assign(bot, { token: bound.bot_token, cursor: '', context: null });
		await ask('msg/notifystart', {});
		await sees(page, () => document.querySelectorAll('.row').length === 0);
	},
	async 'a conversation, to look at'() {
		for (const [who, text] of [
			['me', '你好'],
			['bot', '你好！我在你的电脑上，可以看文件、改文件、回答问题。\n\n- 只在 `~/kairo` 里动手\n- 要运行命令时先问你'],
			['me', '帮我看看 notes 里有什么'],
			['bot', '`notes/` 里有 3 个文件：\n\n| 文件 | 大小 |\n|---|---|\n| todo.md | 412 B |\n| 周报.md | 2.1 KB |\n| ideas.md | 980 B |\n\n最近改动的是 **周报.md**。'],
			['me', '把“买牛奶”加到 todo 里'],
			['bot', '已写入 `notes/todo.md`：\n\n```diff\n+ - [ ] 买牛奶\n```'],
			['me', '跑一下 make test'],
			['bot', '要运行这条命令吗？\n\n> make test\n\n**1** 允许一次\n**2** 拒绝'],
			['me', '1'],
		]) {
			if (who === 'me') { await control('inject', { text }); await fetchMessages(); } else await reply(text);
		}
		const { typing_ticket } = await ask('getconfig', { ilink_user_id: bot.user, context_token: bot.context });
		await ask('sendtyping', { ilink_user_id: bot.user, typing_ticket, status: 1 });
		for (const dark of [false, true]) {
			const p = await open('zh-CN', { dark });
			await sees(p, () => document.querySelector('#typing-row'));
			await picture(p, dark ? 'chat-dark' : 'chat');
			await p.close();
		}
		const wide = await open('en-US', { width: 1100, height: 920 });
		await sees(wide, () => document.querySelector('#side section') && document.querySelector('#typing-row'));
		await picture(wide, 'desk');
		await wide.close();
		await page.bringToFront();
	},
	async 'shows violations, and what broke'() {
		assert.equal(await page.$eval('#badge', b => b.hidden), true, JSON.stringify((await control('violations')).violations));
		await ask('getupdates', { get_updates_buf: 7 });
		await sees(page, () => !document.querySelector('#badge').hidden && document.querySelector('#badge').innerText === '1');
		await page.click('#more');
		await seesText(page, 'wrong_type');
		await picture(page, 'details');
		await page.keyboard.press('Escape');
		assert.equal(await page.$eval('#sheet', s => s.hidden), true);
	},
	async 'has asked nobody else and complained of nothing'() {
		assert.deepEqual(strangers, []);
		assert.deepEqual(complaints, []);
	},
};

await runSteps(steps);
