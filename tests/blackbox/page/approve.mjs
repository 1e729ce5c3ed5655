// A question on the phone page, with the real program behind it: asked, answered, done or refused.
import assert from 'node:assert/strict';
import { complaints, control, open, picture, runSteps, sees, seesText, strangers } from './browser.mjs';

const page = await open('en-US');
const bubbles = () => page.$$eval('.row:not(#typing-row) .bubble', list => list.map(b => b.innerText.trim()));
async function say(text) {
	await page.type('#text', text);
	await page.keyboard.press('Enter');
}
// The question that comes as an answer, with its buttons.
async function asked(text, deed) {
	await say(text);
	await sees(page, () => document.querySelectorAll('.replies button').length === 4);
	const question = (await bubbles()).pop();
	assert.match(question, /Your permission is needed/);
	assert.ok(question.includes(deed), question);
	assert.match(question, /Yes, this once/);
	assert.match(question, /Reply with 1 to 4 only/);
	assert.deepEqual(await page.$$eval('.replies button', l => l.map(b => b.innerText)), ['1', '2', '3', '4']);
	// An answer counts once the program knows that the question has arrived: a person reads it first.
	await new Promise(read => setTimeout(read, 1500));
	return question;
}
async function answered(text) {
	await seesText(page, text);
	assert.equal(await page.$('.replies'), null, 'the buttons go with the question');
}
const press = n => page.$$eval('.replies button', (l, k) => l[k - 1].click(), n);

await runSteps({
	async 'asks before a command runs, and shows its output after the yes'() {
		await asked('run a command', 'uname -a');
		await picture(page, 'question');
		await say('1');
		await answered('I ran uname -a');
		await sees(page, () => [...document.querySelectorAll('.row.bot .bubble')].pop().innerText.includes('Linux'));
		await picture(page, 'answered');
	},
	async 'says that it was refused after a no'() {
		await asked('run a command', 'uname -a');
		await press(3);
		await answered('You refused, so it was not done.');
		assert.equal((await bubbles()).filter(b => b === '3').length, 1);
	},
	async 'does what a button says yes to'() {
		await asked('note buy rice', 'rice');
		await press(1);
		await answered('Written to demo-note.md');
	},
	async 'stops at a no and stop'() {
		await asked('note buy bread', 'bread');
		await press(4);
		await answered('Stopped');
	},
	async 'fits the narrowest phone'() {
		await asked('note buy tea', 'tea');
		await page.setViewport({ width: 320, height: 640 });
		assert.equal(await page.evaluate(() => document.querySelector('#chat').scrollWidth > document.querySelector('#chat').clientWidth), false);
		await press(3);
		await answered('You refused');
	},
	async 'has asked nobody else and complained of nothing'() {
		assert.deepEqual(strangers, []);
		assert.deepEqual(complaints, []);
		assert.deepEqual((await control('violations')).violations, []);
	},
});
