// A voice message of WeChat's (SILK v3) as WAV: mono, 16 bit, 24 kHz or the rate that is asked for.
//
//   node decode.mjs VOICE.silk VOICE.wav [RATE]
//
// Exit status: 65 when the file is cut off or broken, 69 when it is no SILK at all.

import { readFileSync, writeFileSync } from 'node:fs';

const DAMAGED = 65, ANOTHER_FORMAT = 69;
const MAGIC = Buffer.from('\x02#!SILK_V3'); // the first byte is WeChat's own, and not always there
const PACKET_MS = 20;         // what a packet holds, at the least
const PACKET_MAX = 5 * 1024;  // bytes

function end(status, why) {
	process.stderr.write(`${why}\n`);
	process.exit(status);
}

// How many packets there are. The codec itself takes whatever it gets and gives less for it, so
// that half a message would pass for the whole.
function countPackets(data) {
	let at = MAGIC.length, packets = 0;

	for (; at < data.length; packets++) {
		if (at + 2 > data.length)
			end(DAMAGED, 'the voice is cut off within the length of a packet');
		const size = data.readInt16LE(at);
		if (size < 0) // the end, which WeChat mostly leaves out
			break;
		if (size > PACKET_MAX)
			end(DAMAGED, `the voice is broken: packet ${packets + 1} has ${size} bytes`);
		at += 2 + size;
		if (at > data.length)
			end(DAMAGED, `the voice is cut off within packet ${packets + 1}`);
	}
	if (packets === 0)
		end(DAMAGED, 'the voice is empty');
	return packets;
}

function wavHeader(bytes, rate) {
	const head = Buffer.alloc(44);

	head.write('RIFF', 0);
	head.writeUInt32LE(36 + bytes, 4);
	head.write('WAVEfmt ', 8);
	head.writeUInt32LE(16, 16);
	head.writeUInt16LE(1, 20); // PCM
	head.writeUInt16LE(1, 22);
	head.writeUInt32LE(rate, 24);
	head.writeUInt32LE(rate * 2, 28);
	head.writeUInt16LE(2, 32);
	head.writeUInt16LE(16, 34);
	head.write('data', 36);
	head.writeUInt32LE(bytes, 40);
	return head;
}

const [from, to, asked = '24000'] = process.argv.slice(2);
const rate = Number(asked);
if (!to || ![8000, 12000, 16000, 24000, 32000, 44100, 48000].includes(rate))
	end(2, 'usage: node decode.mjs VOICE.silk VOICE.wav [RATE]');

let data = readFileSync(from);
if (data[0] !== MAGIC[0])
	data = Buffer.concat([MAGIC.subarray(0, 1), data]);
if (!data.subarray(0, MAGIC.length).equals(MAGIC))
	end(ANOTHER_FORMAT, 'the voice is not SILK; set up a decoder for it, as ffmpeg for AMR');
const packets = countPackets(data);

let silk;
try {
	silk = await import('silk-wasm');
} catch {
	end(1, `silk-wasm is not installed: run npm ci in ${import.meta.dirname ?? 'the folder of decode.mjs'}`);
}

let sound;
try {
	sound = Buffer.from((await silk.decode(data, rate)).data);
} catch (e) {
	end(DAMAGED, `the voice is broken: ${e?.message ?? e}`);
}
const whole = packets * PACKET_MS / 1000 * rate * 2; // bytes
if (sound.length < whole / 2)
	end(DAMAGED, 'the voice is broken: there is less sound in it than packets');
writeFileSync(to, Buffer.concat([wavHeader(sound.length, rate), sound]));
