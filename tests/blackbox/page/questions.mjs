// Questions that come as an answer on the phone page, and the answers to them.
import assert from 'node:assert/strict';
import { sees, seesText } from './browser.mjs';

export function questionsOn(page) {
	const bubbles = () => page.$$eval('.row:not(#typing-row) .bubble', list => list.map(b => b.innerText.trim()));
	async function say(text) {
		await page.type('#text', text);
		await page.keyboard.press('Enter');
	}
	// The question that a text is answered with, once it has so many buttons.
	async function question(text, buttons) {
		await say(text);
		await sees(page, n => document.querySelectorAll('.replies button').length === n, buttons);
		const names = Array.from({ length: buttons }, (_, i) => String(i + 1));
		assert.deepEqual(await page.$$eval('.replies button', l => l.map(b => b.innerText)), names);
		// An answer counts once the program knows that the question has arrived: a person reads it first.
		await new Promise(read => setTimeout(read, 1500));
		return (await bubbles()).pop();
	}
	// One that asks for a permission.
	async function asked(text, deed) {
		const shown = await question(text, 4);
		assert.match(shown, /Your permission is needed/);
		assert.ok(shown.includes(deed), shown);
		assert.match(shown, /Yes, this once/);
		assert.match(shown, /Reply with 1 to 4 only/);
	}
	async function answered(text) {
		await seesText(page, text);
		assert.equal(await page.$('.replies'), null, 'the buttons go with the question');
	}
	const press = n => page.$$eval('.replies button', (l, k) => l[k - 1].click(), n);
	return { bubbles, say, question, asked, answered, press };
}
