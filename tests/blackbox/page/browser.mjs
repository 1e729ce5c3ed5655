// What the scripts for the phone page share: headless Chromium, the simulator, a list of steps.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';

const puppeteer = createRequire(process.env.PACKAGES + '/')('puppeteer-core');
export const sim = JSON.parse(process.env.SIM);

export async function control(name, body) {
	const answer = await fetch(sim.control + '/control/' + name, body && { method: 'POST', body: JSON.stringify(body) });
	const json = await answer.json();
	assert.ok(answer.ok, name + ': ' + json.error);
	return json;
}

export const browser = await puppeteer.launch({ executablePath: process.env.BROWSER, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
export const strangers = [], complaints = [];
export async function open(language, options = {}) {
	const page = await browser.newPage();
	page.on('request', r => { if (!r.url().startsWith(sim.page) && !/^(data|blob):/.test(r.url())) strangers.push(r.url()); });
	page.on('console', m => { if (m.type() === 'error' || m.type() === 'warn') complaints.push(m.text()); });
	page.on('pageerror', e => complaints.push(String(e)));
	await page.evaluateOnNewDocument(l => Object.defineProperty(navigator, 'language', { get: () => l }), language);
	await page.setViewport({ width: options.width || 390, height: options.height || 844, deviceScaleFactor: 2 });
	await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: options.dark ? 'dark' : 'light' },
		{ name: 'prefers-reduced-motion', value: 'reduce' }]);
	await page.goto(sim.page, { waitUntil: 'load' });
	return page;
}
export const sample = name => path.join(process.env.SAMPLES, name);
export const picture = (page, name) => page.screenshot({ path: path.join(process.env.PICTURES, name + '.png') });
export const sees = (page, test, ...args) => page.waitForFunction(test, { timeout: 15000, polling: 50 }, ...args);
export const seesText = (page, text) => sees(page, t => document.body.innerText.includes(t), text);

export async function runSteps(steps) {
	let failed = 0;
	for (const [name, run] of Object.entries(steps)) {
		try {
			await run();
			console.log('ok   ' + name);
		} catch (error) {
			failed++;
			console.log('FAIL ' + name + '\n' + (error.stack || error));
		}
	}
	await browser.close();
	process.exit(failed ? 1 : 0);
}
