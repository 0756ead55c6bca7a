// Animated GIF (GIF89a): one table of 256 colors for all frames, LZW, endless.

/** Encode frames of one size; `delays` are in milliseconds. */
export function encodeGif(frames: ImageData[], delays: number[]): Uint8Array<ArrayBuffer> {
  const { width, height } = frames[0]!,
    { table, nearest } = palette(frames),
    bytes: number[] = [];
  const short = (value: number) => bytes.push(value & 255, value >> 8);
  const text = (letters: string) => bytes.push(...[...letters].map((letter) => letter.charCodeAt(0)));
  text("GIF89a");
  short(width);
  short(height);
  bytes.push(0xf7, 0, 0, ...table);
  bytes.push(0x21, 0xff, 11);
  text("NETSCAPE2.0");
  bytes.push(3, 1, 0, 0, 0);
  frames.forEach((frame, index) => {
    bytes.push(0x21, 0xf9, 4, 4);
    short(Math.round(delays[index]! / 10));
    bytes.push(0, 0, 0x2c, 0, 0, 0, 0);
    short(width);
    short(height);
    bytes.push(0, 8);
    const packed = compress(frame, nearest);
    for (let at = 0; at < packed.length; at += 255) {
      const block = packed.slice(at, at + 255);
      bytes.push(block.length, ...block);
    }
    bytes.push(0);
  });
  bytes.push(0x3b);
  return new Uint8Array(bytes);
}

/** A color in 15 bits. */
function bin(data: Uint8ClampedArray, at: number): number {
  return ((data[at]! >> 3) << 10) | ((data[at + 1]! >> 3) << 5) | (data[at + 2]! >> 3);
}

/** The 256 colors that most pixels have, and for each color the nearest of them. */
function palette(frames: ImageData[]): { table: number[]; nearest: (data: Uint8ClampedArray, at: number) => number } {
  const seen = new Map<number, [number, number, number, number]>();
  for (const { data } of frames)
    for (let at = 0; at < data.length; at += 4) {
      const name = bin(data, at),
        one = seen.get(name);
      if (one) one[0]++;
      else seen.set(name, [1, data[at]!, data[at + 1]!, data[at + 2]!]);
    }
  const kept = [...seen.values()].sort((a, b) => b[0] - a[0]).slice(0, 256),
    known = new Map<number, number>();
  const nearest = (data: Uint8ClampedArray, at: number) => {
    const name = bin(data, at);
    let result = known.get(name);
    if (result === undefined) {
      const distances = kept.map(
        ([, r, g, b]) => (r - data[at]!) ** 2 + 2 * (g - data[at + 1]!) ** 2 + (b - data[at + 2]!) ** 2,
      );
      known.set(name, (result = distances.indexOf(Math.min(...distances))));
    }
    return result;
  };
  const table = kept.flatMap(([, r, g, b]) => [r, g, b]);
  return { table: [...table, ...new Array<number>(768 - table.length).fill(0)], nearest };
}

/** LZW with codes of 9 to 12 bits. */
function compress({ data }: ImageData, nearest: (data: Uint8ClampedArray, at: number) => number): number[] {
  const CLEAR = 256,
    bytes: number[] = [];
  let codes = new Map<number, number>(),
    next = 258,
    size = 9,
    held = 0,
    bits = 0,
    prefix = -1;
  const put = (code: number) => {
    held |= code << bits;
    for (bits += size; bits >= 8; bits -= 8, held >>>= 8) bytes.push(held & 255);
  };
  put(CLEAR);
  for (let at = 0; at < data.length; at += 4) {
    const color = nearest(data, at),
      name = (prefix << 8) | color,
      known = prefix < 0 ? color : codes.get(name);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    put(prefix);
    if (next === 4096) {
      put(CLEAR);
      [codes, next, size] = [new Map(), 258, 9];
    } else {
      if (next === 1 << size) size++;
      codes.set(name, next++);
    }
    prefix = color;
  }
  put(prefix);
  put(257);
  if (bits) bytes.push(held & 255);
  return bytes;
}
