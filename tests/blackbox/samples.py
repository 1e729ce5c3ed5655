"""Small real files of each kind, made here by Python's standard library alone: what a phone sends and
what an agent sends back. Every maker gives bytes, the same ones each time."""

import io
import os
import struct
import zipfile
import zlib

RED, GREEN, BLUE, YELLOW = (224, 32, 32), (32, 160, 64), (32, 64, 208), (240, 208, 32)
CORNERS = (RED, GREEN, BLUE, YELLOW)  # upper left, upper right, lower left, lower right


def corner(x, y, width, height):
    """The colour at a point of a picture whose four quarters differ: how it is turned can be seen."""
    return CORNERS[(2 if y * 2 >= height else 0) + (1 if x * 2 >= width else 0)]


# --- Pictures ---------------------------------------------------------------------------------------
def png(width=32, height=24, alpha=None):
    """Four coloured quarters; alpha: 0 to 255 for all of it."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    tail = b"" if alpha is None else bytes([alpha])
    rows = []
    for y in (0, height - 1):
        half = width // 2
        rows.append(b"\0" + (bytes(corner(0, y, width, height)) + tail) * half +
                    (bytes(corner(width, y, width, height)) + tail) * (width - half))
    data = rows[0] * (height // 2) + rows[1] * (height - height // 2)
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if alpha is None else 6, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(data, 9)) +
            chunk(b"IEND", b""))


def png_bomb(width=20000, height=20000):
    """A picture of very few bytes and very many pixels."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    press = zlib.compressobj(9)
    row = bytes(1 + (width + 7) // 8)
    data = b"".join(press.compress(row) for _ in range(height)) + press.flush()
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)) +
            chunk(b"IDAT", data) + chunk(b"IEND", b""))


def size(data):
    """Width and height of a PNG or JPEG."""
    if data.startswith(b"\x89PNG"):
        return struct.unpack(">II", data[16:24])
    at = 2
    while not 0xc0 <= data[at + 1] <= 0xc2:
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    height, width = struct.unpack(">HH", data[at + 5:at + 9])
    return width, height


class _Bits:
    """Bits into a JPEG's scan, the most significant first, 0xff followed by a zero."""

    def __init__(self):
        self.out, self.value, self.n = bytearray(), 0, 0

    def put(self, value, n):
        self.value, self.n = self.value << n | value, self.n + n
        while self.n >= 8:
            self.n -= 8
            byte = self.value >> self.n & 255
            self.out += b"\xff\0" if byte == 255 else bytes([byte])

    def end(self):
        if self.n:
            self.put((1 << (8 - self.n)) - 1, 8 - self.n)
        return bytes(self.out)


def _exif(orientation, note):
    """APP1 with the orientation, and a text that a careful program does not hand on."""
    text = note + b"\0"
    ifd = struct.pack("<H", 2) + struct.pack("<HHIHH", 0x0112, 3, 1, orientation, 0)
    ifd += struct.pack("<HHII", 0x010e, 2, len(text), 8 + 2 + 2 * 12 + 4) + struct.pack("<I", 0)
    body = b"Exif\0\0" + b"II*\0" + struct.pack("<I", 8) + ifd + text
    return b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body


def jpeg(width=64, height=48, orientation=None, note=b"taken at home"):
    """Baseline, four coloured quarters in squares of eight by eight: nothing but the mean of each square
    is coded. orientation: 1 to 8, in an EXIF block with a note."""
    code = dict(enumerate([(0b00, 2), (0b010, 3), (0b011, 3), (0b100, 3), (0b101, 3), (0b110, 3),
                           (0b1110, 4), (0b11110, 5), (0b111110, 6)]))
    bits, last = _Bits(), [0, 0, 0]
    for y in range(0, height, 8):
        for x in range(0, width, 8):
            r, g, b = corner(x, y, width, height)
            means = (0.299 * r + 0.587 * g + 0.114 * b - 128, -0.1687 * r - 0.3313 * g + 0.5 * b,
                     0.5 * r - 0.4187 * g - 0.0813 * b)
            for k, mean in enumerate(round(m) for m in means):
                diff, last[k] = mean - last[k], mean
                size = abs(diff).bit_length()
                bits.put(*code[size])
                bits.put(diff if diff > 0 else diff + (1 << size) - 1, size)
                bits.put(0, 1)  # the end of the block: the only code of the other table

    def segment(mark, body):
        return b"\xff" + bytes([mark]) + struct.pack(">H", len(body) + 2) + body
    frame = struct.pack(">BHHB", 8, height, width, 3) + b"".join(bytes([k, 0x11, 0]) for k in (1, 2, 3))
    return (b"\xff\xd8" + (_exif(orientation, note) if orientation else b"") +
            segment(0xdb, b"\0" + b"\x08" * 64) + segment(0xc0, frame) +
            segment(0xc4, b"\0" + bytes([0, 1, 5, 1, 1, 1] + [0] * 10) + bytes(range(9))) +
            segment(0xc4, b"\x10" + bytes([1] + [0] * 15) + b"\0") +
            segment(0xda, b"\3" + b"".join(bytes([k, 0]) for k in (1, 2, 3)) + b"\0\x3f\0") +
            bits.end() + b"\xff\xd9")


def gif(width=16, height=16, frames=2):
    """Animated: each frame in a colour of its own, for ever."""
    def picture(colour):
        # Four-colour pixels as codes of three bits; a clear code before the codes would grow.
        value = n = 0
        for i in range(width * height):
            if i % 2 == 0:
                value, n = value | 4 << n, n + 3
            value, n = value | colour << n, n + 3
        value, n = value | 5 << n, n + 3
        data = value.to_bytes((n + 7) // 8, "little")
        blocks = b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255] for i in range(0, len(data), 255))
        return (b"\x21\xf9\x04\x04" + struct.pack("<H", 20) + b"\0\0" +
                b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02" + blocks + b"\0")
    palette = b"".join(bytes(c) for c in CORNERS)
    return (b"GIF89a" + struct.pack("<HHBBB", width, height, 0x91, 0, 0) + palette +
            b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0" +
            b"".join(picture(i % 4) for i in range(frames)) + b"\x3b")


def webp(width=24, height=16, colour=GREEN, alpha=255):
    """Lossless, all of one colour: each of its five codes has one symbol, so a pixel takes no bits."""
    value = n = 0

    def put(v, bits):
        nonlocal value, n
        value, n = value | v << n, n + bits
    put(0x2f, 8)
    put(width - 1, 14)
    put(height - 1, 14)
    put(1 if alpha < 255 else 0, 1)
    put(0, 3 + 3)  # version; no transform, no colour cache, one group of codes
    red, green, blue = colour
    for symbol in (green, red, blue, alpha, 0):
        put(1, 1)  # simple
        put(0, 1)  # of one symbol
        put(1, 1)  # that has eight bits
        put(symbol, 8)
    data = value.to_bytes((n + 7) // 8, "little")
    data += b"\0" * (len(data) % 2)
    body = b"WEBPVP8L" + struct.pack("<I", (n + 7) // 8) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _box(kind, *parts):
    body = b"".join(parts)
    return struct.pack(">I", len(body) + 8) + kind + body


def heic():
    """What a telephone's own photographs begin with; the picture itself is not there."""
    return (_box(b"ftyp", b"heic\0\0\0\0", b"mif1heic") +
            _box(b"meta", b"\0\0\0\0", _box(b"hdlr", b"\0" * 8 + b"pict" + b"\0" * 13)) + _box(b"mdat", b"\0" * 64))


# --- Documents --------------------------------------------------------------------------------------
def pdf(text="hello"):
    """One page with one line."""
    stream = ("BT /F1 24 Tf 72 700 Td (%s) Tj ET" % text).encode()
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
               b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
               b"<</Length %d>>\nstream\n%s\nendstream" % (len(stream), stream),
               b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    out, places = b"%PDF-1.4\n", []
    for i, o in enumerate(objects):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (i + 1, o)
    table = b"".join(b"%010d 00000 n \n" % p for p in places)
    return out + (b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" %
                  (len(objects) + 1, table, len(objects) + 1, len(out)))


def zip_of(files):
    """{"name": bytes} as a ZIP."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            z.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def docx(text="hello"):
    kinds = "http://schemas.openxmlformats.org/package/2006/content-types"
    links = "http://schemas.openxmlformats.org/package/2006/relationships"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    words = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return zip_of({
        "[Content_Types].xml":
            '<Types xmlns="%s"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
            'relationships+xml"/><Override PartName="/word/document.xml" ContentType="%s"/></Types>' % (kinds, main),
        "_rels/.rels":
            '<Relationships xmlns="%s"><Relationship Id="r1" Type="%s" Target="word/document.xml"/>'
            '</Relationships>' % (links, office),
        "word/document.xml":
            '<w:document xmlns:w="%s"><w:body><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:body></w:document>' %
            (words, text)})


# --- Sound and film ---------------------------------------------------------------------------------
def mp4():
    """The frame of a film without one picture in it."""
    head = struct.pack(">IIIII", 0, 0, 0, 1000, 0) + struct.pack(">IHH", 0x10000, 0x100, 0) + b"\0" * 8
    matrix = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
    return (_box(b"ftyp", b"isom\0\0\2\0", b"isomiso2mp41") + _box(b"mdat", b"\0" * 32) +
            _box(b"moov", _box(b"mvhd", head, matrix, b"\0" * 24, struct.pack(">I", 2))))


def silk(frames=3, frame=b"\x0b\x80\x00\x00", end=True):
    """WeChat's voice: a byte 2, the mark, frames with their lengths, the end. The frames are no speech;
    end=False: cut off."""
    body = b"".join(struct.pack("<H", len(frame)) + frame for _ in range(frames))
    return b"\x02#!SILK_V3" + body + (b"\xff\xff" if end else b"")


# --- Any length -------------------------------------------------------------------------------------
def pattern(size):
    """What the simulator makes of {"size": N}."""
    block = bytes((i * 31 + (i >> 8)) & 255 for i in range(65536))
    return (block * (size // 65536 + 1))[:size]


def write_all(folder):
    """Each of ALL as a file of its name."""
    os.makedirs(folder, exist_ok=True)
    for name, make in ALL.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(make())


ALL = {"a.png": png, "alpha.png": lambda: png(alpha=128), "a.jpg": jpeg, "turned.jpg": lambda: jpeg(orientation=6),
       "a.gif": gif, "a.webp": webp, "a.heic": heic, "a.pdf": pdf, "a.docx": docx,
       "a.zip": lambda: zip_of({"a.txt": b"hello\n"}), "a.mp4": mp4, "a.silk": silk}
