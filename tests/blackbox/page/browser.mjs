// What the scripts for the phone page share: headless Chromium, the simulator, a list of steps.
import assert from 'node:assert/strict';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';

const puppeteer = createRequire(process.env.PACKAGES + '/')('puppeteer-core');
export const sim = JSON.parse(process.env.SIM);
// Of every wait: for hangs, not for speed. What is done on the page goes its way after the call that did it has
// returned: wait for what it brings before anything is asked or done that needs it.
export const timeout = 120000;
// To try the scripts on a slow machine: SLOW=N delays each request of the page by up to N ms, and slows its processor.
const slow = Number(process.env.SLOW || 0);

export async function control(name, body) {
	const answer = await fetch(sim.control + '/control/' + name, body && { method: 'POST', body: JSON.stringify(body) });
	const json = await answer.json();
	assert.ok(answer.ok, name + ': ' + json.error);
	return json;
}

// What the daemon says of itself.
export const status = () => new Promise((done, failed) => http.get({ socketPath: process.env.SOCKET, path: '/v1/status' },
	answer => json(answer).then(done, failed)).on('error', failed));

export const browser = await puppeteer.launch({ executablePath: process.env.BROWSER, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout,
	protocolTimeout: 2 * timeout });
export const strangers = [], complaints = [];
export async function open(language, options = {}) {
	const page = await browser.newPage();
	page.setDefaultTimeout(timeout);
	if (slow) {
		await page.emulateCPUThrottling(20);
		await page.setRequestInterception(true);
		page.on('request', r => setTimeout(Math.random() * slow).then(() => r.continue()));
	}
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
export const sees = (page, test, ...args) => page.waitForFunction(test, { polling: 50 }, ...args);
export const seesText = (page, text) => sees(page, t => document.body.innerText.includes(t), text);

// The first true value of condition().
export async function until(condition, what) {
	for (const end = Date.now() + timeout;;) {
		const value = await condition();
		if (value) return value;
		assert.ok(Date.now() < end, 'gave up waiting for ' + what);
		await setTimeout(50);
	}
}
// Puts files into the tray beside what is there; returns once they are.
export async function attach(page, ...names) {
	const there = await page.$$eval('.staged', l => l.length);
	await (await page.$('#file')).uploadFile(...names.map(sample));
	await sees(page, n => document.querySelectorAll('.staged').length === n, there + names.length);
}

// One after the other, each on what those before it have left: the first that fails is the last.
export async function runSteps(steps) {
	for (const [name, run] of Object.entries(steps)) {
		try {
			await run();
			console.log('ok   ' + name);
		} catch (error) {
			console.log('FAIL ' + name + '\n' + (error.stack || error));
			for (const page of await browser.pages())
				console.log('--- ' + page.url() + '\n' + await page.evaluate(() => document.body.innerText).catch(String));
			process.exitCode = 1;
			break;
		}
	}
	await browser.close();
}
