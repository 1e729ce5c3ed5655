// Questions that come as an answer on the phone page, and the answers to them.
import assert from 'node:assert/strict';
import { sees, status, until } from './browser.mjs';

export function questionsOn(page) {
	const bubbles = () => page.$$eval('.row:not(#typing-row) .bubble', list => list.map(b => b.innerText.trim()));
	const said = () => page.$$eval('.row.bot:not(#typing-row) .bubble', list => list.map(b => b.innerText.trim()));
	let before = 0;   // what the bot had said before it was last written to
	async function say(text) {
		before = (await said()).length;
		const mine = await page.$$eval('.row.me', l => l.length);
		await page.type('#text', text);
		await page.keyboard.press('Enter');
		await sees(page, n => document.querySelectorAll('.row.me').length > n, mine);
	}
	// The question that a text is answered with, once it has so many buttons.
	async function question(text, buttons) {
		await say(text);
		await sees(page, n => document.querySelectorAll('.replies button').length === n, buttons);
		const names = Array.from({ length: buttons }, (_, i) => String(i + 1));
		assert.deepEqual(await page.$$eval('.replies button', l => l.map(b => b.innerText)), names);
		await until(async () => (await status()).unsent === 0, 'the daemon to know that the question is there: only now an answer counts');
		return (await said()).pop();
	}
	// One that asks for a permission.
	async function asked(text, deed) {
		const shown = await question(text, 4);
		assert.match(shown, /Your permission is needed/);
		assert.ok(shown.includes(deed), shown);
		assert.match(shown, /Yes, this once/);
		assert.match(shown, /Reply with 1 to 4 only/);
	}
	// The answer with that text to what was said or pressed last.
	async function answered(text) {
		const find = async () => (await said()).slice(before).find(b => b.includes(text));
		const answer = await until(find, 'an answer with ' + text);
		assert.equal(await page.$('.replies'), null, 'the buttons go with the question');
		return answer;
	}
	async function press(n) {
		before = (await said()).length;
		await page.$$eval('.replies button', (l, k) => l[k - 1].click(), n);
	}
	return { bubbles, say, question, asked, answered, press };
}
