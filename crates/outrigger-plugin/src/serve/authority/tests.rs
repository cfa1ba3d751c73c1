use loona_hpack::{Decoder, Encoder};
use tokio::io::AsyncReadExt as _;

use super::*;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = BytesMut::new();
    frame.put_uint(payload.len() as u64, 3);
    frame.put_u8(kind);
    frame.put_u8(flags);
    frame.put_u32(stream);
    frame.extend_from_slice(payload);
    frame.to_vec()
}

fn preface() -> Vec<u8> {
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()
}

/// What comes out when `bytes` arrive in pieces of `size`.
fn passed(bytes: &[u8], size: usize) -> io::Result<Vec<u8>> {
    let mut frames = Frames::new();
    let (mut received, mut out) = (BytesMut::new(), BytesMut::new());
    for piece in bytes.chunks(size) {
        received.extend_from_slice(piece);
        frames.pass(&mut received, &mut out)?;
    }
    Ok(out.to_vec())
}

/// The frames after the preface: kind, flags, stream, payload.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    bytes = bytes.strip_prefix(preface().as_slice()).unwrap();
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let length = usize::from(bytes[1]) << 8 | usize::from(bytes[2]) | usize::from(bytes[0]) << 16;
        let stream = u32::from_be_bytes([bytes[5], bytes[6], bytes[7], bytes[8]]);
        all.push((bytes[3], bytes[4], stream, bytes[9..9 + length].to_vec()));
        bytes = &bytes[9 + length..];
    }
    all
}

fn request(authority: &'static str) -> Vec<(&'static [u8], &'static [u8])> {
    vec![
        (b":method", b"POST"),
        (b":authority", authority.as_bytes()),
        (b":path", b"/x"),
        (b"te", b"trailers"),
    ]
}

fn headers(block: &[u8]) -> Pairs {
    Decoder::new().decode(block).unwrap()
}

#[test]
fn a_path_in_the_authority_becomes_a_host_name_also_when_it_is_repeated_by_reference() {
    let mut encoder = Encoder::new();
    let blocks: Vec<Vec<u8>> = (0..3).map(|_| encoder.encode(request("/run/plugins/x.sock"))).collect();
    assert!(blocks[1].len() < blocks[0].len(), "later blocks refer to the first");
    let mut bytes = preface();
    for (number, block) in blocks.iter().enumerate() {
        bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 2 * number as u32 + 1, block));
    }
    let expected: Pairs =
        request("localhostxxxxxxxxxx").iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
    for size in [1, 7, 4096] {
        let out = frames(&passed(&bytes, size).unwrap());
        assert_eq!(out.len(), 3);
        let mut decoder = Decoder::new();
        for (number, (_, flags, stream, block)) in out.iter().enumerate() {
            assert_eq!((*flags, *stream), (END_HEADERS | END_STREAM, 2 * number as u32 + 1));
            assert_eq!(decoder.decode(block).unwrap(), expected);
        }
    }
}

#[test]
fn a_packed_path_and_a_spelled_out_name_are_understood() {
    // As gRPC for Go writes it: name by index, value packed.
    let mut packed = Vec::new();
    httlib_huffman::encode(b"%2Frun%2Fx.sock", &mut packed).unwrap();
    for name in [&[0x41][..], &[0x01], &[0x11], b"\x00\x0a:authority"] {
        let block = [&[0x83], name, &[0x80 | packed.len() as u8], &packed, &[0x86]].concat();
        let headers = headers(&with_host_name(block));
        assert_eq!(headers[1], (b":authority".to_vec(), b"localhostxxxxxx".to_vec()));
        assert_eq!((headers.len(), headers[2].0.as_slice()), (3, &b":scheme"[..]));
    }
}

#[test]
fn what_cannot_be_read_is_left_as_it_is() {
    for block in [
        &[0x41][..],
        &[0x41, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0x41, 0x85, 0xff, 0xff],
        &[0x00],
        &[0x00, 5, b'a'],
        &[0xff; 9],
        &[0x41, 0],
    ] {
        assert_eq!(with_host_name(block.to_vec()), block);
    }
    let mut seed = 1_u64;
    for _ in 0..100_000 {
        let block: Vec<u8> = (0..20)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 56) as u8
            })
            .collect();
        let _ = with_host_name(block);
    }
}

#[test]
fn an_authority_that_is_one_stays() {
    let block = Encoder::new().encode(request("plugins.example:9090"));
    let out = frames(&passed(&[preface(), frame(HEADERS, END_HEADERS, 1, &block)].concat(), 64).unwrap());
    assert!(headers(&out[0].3).contains(&(b":authority".to_vec(), b"plugins.example:9090".to_vec())));
}

#[test]
fn other_frames_pass_as_they_are_before_they_are_complete() {
    let bytes = [preface(), frame(4, 0, 0, &[0; 12]), frame(0, 1, 1, &[7; 16_000])].concat();
    assert_eq!(passed(&bytes, 3).unwrap(), bytes);
    let half = &bytes[..bytes.len() - 5000];
    assert_eq!(passed(half, 1000).unwrap(), half);
}

#[test]
fn padding_priority_and_continuation_are_understood() {
    let block = Encoder::new().encode(request("/a"));
    let (head, tail) = block.split_at(block.len() / 2);
    let padded = [&[3][..], &[0; 5], head, &[0; 3]].concat();
    let bytes = [
        preface(),
        frame(HEADERS, PADDED | PRIORITY | END_STREAM, 5, &padded),
        frame(CONTINUATION, END_HEADERS, 5, tail),
    ]
    .concat();
    let out = frames(&passed(&bytes, 11).unwrap());
    assert_eq!((out.len(), out[0].0, out[0].1, out[0].2), (1, HEADERS, END_HEADERS | END_STREAM, 5));
    assert!(headers(&out[0].3).contains(&(b":authority".to_vec(), b"lo".to_vec())));
}

#[test]
fn a_long_block_is_written_in_several_frames() {
    let long = "v".repeat(40_000);
    let block = Encoder::new().encode(vec![(&b"long"[..], long.as_bytes())]);
    let pieces: Vec<&[u8]> = block.chunks(16_000).collect();
    let mut bytes = preface();
    for (number, piece) in pieces.iter().enumerate() {
        let kind = if number == 0 { HEADERS } else { CONTINUATION };
        let flags = if number + 1 == pieces.len() { END_HEADERS } else { 0 };
        bytes.extend(frame(kind, flags, 1, piece));
    }
    let out = frames(&passed(&bytes, 5000).unwrap());
    assert_eq!(out.iter().map(|frame| frame.0).collect::<Vec<_>>(), [HEADERS, CONTINUATION, CONTINUATION]);
    let block: Vec<u8> = out.iter().flat_map(|frame| frame.3.clone()).collect();
    assert_eq!(headers(&block), [(b"long".to_vec(), long.into_bytes())]);
}

#[test]
fn what_breaks_the_rules_or_the_bounds_is_refused() {
    let block = Encoder::new().encode(request("/a"));
    let endless: Vec<u8> = (0..20)
        .flat_map(|number| frame(if number == 0 { HEADERS } else { CONTINUATION }, 0, 1, &[0x82; 16_000]))
        .collect();
    for (what, bytes) in [
        ("continuation alone", frame(CONTINUATION, END_HEADERS, 1, &block)),
        ("data within a block", [frame(HEADERS, 0, 1, &block), frame(0, 0, 1, b"x")].concat()),
        (
            "another stream's continuation",
            [frame(HEADERS, 0, 1, &block), frame(CONTINUATION, END_HEADERS, 3, &block)].concat(),
        ),
        ("a frame too large", frame(HEADERS, END_HEADERS, 1, &[0; 20_000])),
        ("nothing but padding", frame(HEADERS, END_HEADERS | PADDED, 1, &[200, 1, 2])),
        ("no end", endless),
    ] {
        assert!(passed(&[preface(), bytes].concat(), 512).is_err(), "{what}");
    }
}

#[tokio::test]
async fn the_connection_ends_when_the_client_ends() {
    let bytes = [preface(), frame(4, 0, 0, &[])].concat();
    let mut out = Vec::new();
    Localhost::new(bytes.as_slice()).read_to_end(&mut out).await.unwrap();
    assert_eq!(out, bytes);
}
