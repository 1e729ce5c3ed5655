// Pictures, files, voice and quotes on the phone page, with the real program behind it: what is sent is
// understood, what it sends can be opened.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { attach, browser, complaints, control, open, picture, runSteps, sample, sees, strangers, timeout } from './browser.mjs';

const page = await open('en-US');
const rows = side => page.$$eval(`.row.${side}:not(#typing-row)`, l => l.length);
const bubbles = () => page.$$eval('.row.bot:not(#typing-row) .bubble', l => l.map(b => b.innerText.trim()));
const cite = (side, k) => page.$$eval(`.row.${side} .cite`, (l, n) => l.at(n).click(), k);
async function say(text) {
	if (text) await page.type('#text', text);
	await page.click('#send');
}
// The answer, once it and all that comes with it is there and nobody types any more.
async function answered(side, more = 1) {
	const before = await rows('bot');
	await side();
	await sees(page, n => document.querySelectorAll('.row.bot:not(#typing-row)').length >= n, before + more);
	return (await bubbles()).pop();
}
const asked = async () => {
	const { requests } = await control('model_requests'), { messages } = requests.at(-1).body;
	return messages.filter(m => m.role === 'user').at(-1).content;
};
const textOf = content => typeof content === 'string' ? content : content.filter(p => p.type === 'text').map(p => p.text).join('\n');

await runSteps({
	async 'sends a picture, asks about it, and one task sees both'() {
		await attach(page, 'turned.jpg');
		const answer = await answered(() => say('what is in this picture?'));
		assert.match(answer, /picture .*image\/jpeg/);
		assert.match(answer, /Given to the model to look at:\s+image\/(jpeg|png)/);
		const content = await asked();
		assert.equal(content.filter(p => p.type === 'image_url').length, 1);
		assert.match(textOf(content), /what is in this picture\?/);
		assert.equal(await rows('bot'), 1, 'one answer to both');
		await picture(page, 'media-asked');
	},
	async 'sends a file, which is named'() {
		await attach(page, 'a.pdf');
		assert.match(await answered(() => say('and this?')), /a\.pdf, application\/pdf, 544 B/);
	},
	async 'gets the picture back, as it was sent, and opens it'() {
		await answered(() => say('send the picture back'), 2);
		await sees(page, () => { const i = document.querySelector('.row.bot .picture'); return i && i.naturalWidth === 48 && i.naturalHeight === 64; });
		const got = Buffer.from(await page.$eval('.row.bot a:has(.picture)', async a => [...new Uint8Array(await (await fetch(a.href)).arrayBuffer())]));
		assert.ok(got.equals(fs.readFileSync(sample('turned.jpg'))));
		const opened = browser.waitForTarget(t => t.url().includes('/control/media'), { timeout });
		await page.$eval('.row.bot a:has(.picture)', a => a.click());
		const tab = await (await opened).page();
		await sees(tab, () => document.images.length === 1);
		await tab.close();
		await page.bringToFront();
		assert.ok(!(await bubbles()).some(b => b.includes('send-image')), 'no tag is shown');
	},
	async 'gets a file that stood in the answer, and one of the workspace'() {
		await answered(() => say('send me a file'), 2);
		await answered(() => say('send me shopping.md'), 2);
		await sees(page, () => document.querySelectorAll('.row.bot .file').length === 2);
		const files = await page.$$eval('.row.bot .file', l => Promise.all(l.map(async a => [a.download, await (await fetch(a.href)).text()])));
		assert.deepEqual(files.map(f => f[0]), ['demo.md', 'shopping.md']);
		assert.match(files[0][1], /^# Demo\n/);
		assert.match(files[1][1], /green tea/);
		assert.ok(!(await bubbles()).some(b => b.includes('file:demo')), 'the block is not shown');
		await picture(page, 'media-received');
	},
	async 'quotes a part of an answer'() {
		await page.evaluate(() => {
			const bubble = [...document.querySelectorAll('.row.bot .bubble')].find(b => b.innerText.includes('Given to the model'));
			const text = document.evaluate(".//text()[contains(., 'look at')]", bubble, null, 9).singleNodeValue, at = text.data.indexOf('look at');
			bubble.closest('.row').classList.add('wanted');
			getSelection().setBaseAndExtent(text, at, text, at + 7);
		});
		await page.$eval('.row.wanted .cite', b => b.click());
		const answer = await answered(() => say('tell me about these words'));
		assert.ok(answer.includes('tell me about these words'), answer);
		const words = textOf(await asked());
		assert.match(words, /look at/);
		assert.doesNotMatch(words, /Given to the model/);
	},
	async 'quotes its own picture, which is seen once more'() {
		await cite('me', 0);
		const answer = await answered(() => say('and what was this?'));
		assert.match(answer, /quoted picture .*image\/jpeg/);
		assert.equal(await page.$$eval('.row.me .quoted', l => l.at(-1).innerText), 'Picture');
	},
	async 'is heard, when its phone has written down what was said'() {
		await attach(page, 'a.silk');
		await page.type('.staged input', 'hello');
		assert.match(await answered(() => say('')), /demo model inside kairo-sim/);
	},
	async 'has asked nobody else and complained of nothing'() {
		assert.deepEqual(strangers, []);
		assert.deepEqual(complaints, []);
		assert.deepEqual((await control('violations')).violations, []);
	},
});
