// A question on the phone page, with the real program behind it: asked, answered, done or refused.
import assert from 'node:assert/strict';
import { complaints, control, open, picture, runSteps, sees, strangers } from './browser.mjs';
import { questionsOn } from './questions.mjs';

const page = await open('en-US');
const { bubbles, say, asked, answered, press } = questionsOn(page);

await runSteps({
	async 'asks before a command runs, and shows its output after the yes'() {
		await asked('run a command', 'uname -a');
		await picture(page, 'question');
		await say('1');
		assert.match(await answered('I ran uname -a'), /Linux/);
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
		await sees(page, () => innerWidth === 320);
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
