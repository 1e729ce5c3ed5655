// An agent that others wrote, used from the phone page: it talks, asks before it acts, asks what it wants
// to know, and stops.
import assert from 'node:assert/strict';
import { complaints, control, open, picture, runSteps, strangers } from './browser.mjs';
import { questionsOn } from './questions.mjs';

const page = await open('en-US');
const { bubbles, say, question, asked, answered, press } = questionsOn(page);

await runSteps({
	async 'shows what it says, and not what it thinks'() {
		await say('hello');
		await answered('Hello there.');
		assert.ok(!(await bubbles()).some(b => b.includes('They greet me')));
	},
	async 'does nothing after a no'() {
		await asked('refuse it', 'touch refused');
		await press(3);
		await answered('So I did not.');
	},
	async 'runs a command after a yes, and has its output'() {
		await asked('labour', 'touch made; echo heron-$((4700+11))');
		await picture(page, 'agent-question');
		await press(1);
		await answered('heron-4711');
		await picture(page, 'agent-answered');
	},
	async 'has its own question answered'() {
		const shown = await question('choose', 2);
		assert.match(shown, /Which colour\?/);
		assert.match(shown, /red \(warm\)\s+blue \(cold\)/);
		await press(2);
		assert.match(await answered('You chose'), /You chose: .*blue/s);
	},
	async 'stops at its question, and goes on with the next message'() {
		await asked('labour', 'touch made');
		await say('/stop');
		await answered('Stopped');
		await say('again');
		await answered('Once more, hello.');
	},
	async 'has asked nobody else and complained of nothing'() {
		assert.deepEqual(strangers, []);
		assert.deepEqual(complaints, []);
		assert.deepEqual((await control('violations')).violations, []);
	},
});
