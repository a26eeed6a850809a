//! Counts the control frames of a client: SETTINGS, PING, WINDOW_UPDATE, PRIORITY and frames of unknown types. They
//! cost the server time, and neither hyper nor h2 limits their number.
//!
//! Specification: [RFC 9113, section 10.5](https://www.rfc-editor.org/rfc/rfc9113#section-10.5).

/// Number of control frames that a client may send in each period. Each request and each DATA frame sent to the client adds to
/// this number.
const BURST: usize = 1_000;
/// Length of a period, in ticks. A tick is at most 200 ms.
const PERIOD: u64 = 50;
/// Number of control frames that each DATA frame adds. After a DATA frame, even a small one, a client may update the windows of
/// the stream and of the connection.
const PER_DATA_FRAME: usize = 2;
/// Number of bytes in a DATA frame for which one more control frame is added, because a client may update its windows in smaller
/// steps.
const BYTES_PER_FRAME: usize = 1 << 10;
/// Number of control frames that each request adds.
const PER_REQUEST: usize = 4;
/// Upper bound of the number of control frames that a client may still send.
const MAX_LEFT: usize = 1 << 20;

/// The length of the connection preface, which is not a frame.
const PREFACE: usize = 24;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const CONTINUATION: u8 = 9;

/// Counts how many control frames the client of a connection may still send.
pub(super) struct ControlFrames {
    received: FrameHeaders,
    sent: FrameHeaders,
    left: usize,
    /// The tick at which the period ends.
    until: u64,
}

impl ControlFrames {
    pub(super) fn new(now: u64) -> Self {
        Self {
            received: FrameHeaders::after(PREFACE),
            sent: FrameHeaders::after(0),
            left: BURST,
            until: now.saturating_add(PERIOD),
        }
    }

    /// Adds the control frames that the client may send for the DATA frames in `bytes`. `bytes` were sent to the client.
    pub(super) fn sent(&mut self, mut bytes: &[u8]) {
        while let Some((kind, length)) = self.sent.next(&mut bytes) {
            if kind == DATA && length > 0 {
                self.add(PER_DATA_FRAME + length / BYTES_PER_FRAME);
            }
        }
    }

    fn add(&mut self, frames: usize) {
        self.left = self.left.saturating_add(frames).min(MAX_LEFT);
    }

    /// Subtracts the control frames in `bytes`, which the client has sent. Returns whether the client has sent too many control
    /// frames.
    pub(super) fn received(&mut self, mut bytes: &[u8], now: u64) -> bool {
        if now >= self.until {
            self.until = now.saturating_add(PERIOD);
            self.left = self.left.max(BURST);
        }
        while let Some((kind, _)) = self.received.next(&mut bytes) {
            match kind {
                HEADERS => self.add(PER_REQUEST),
                DATA | RST_STREAM | CONTINUATION => {}
                _ => match self.left.checked_sub(1) {
                    Some(left) => self.left = left,
                    None => return true,
                },
            }
        }
        false
    }
}

/// A parser for the frame headers in one direction of a connection.
struct FrameHeaders {
    /// The header of a frame. The first three bytes are the length of the frame, and the fourth byte is its type.
    head: [u8; 9],
    head_len: usize,
    /// Number of bytes that are skipped before the next frame begins.
    skipped: usize,
}

impl FrameHeaders {
    /// Creates a parser that expects the first frame after `skipped` bytes.
    fn after(skipped: usize) -> Self {
        Self {
            head: [0; 9],
            head_len: 0,
            skipped,
        }
    }

    /// Returns the type and the length of the next frame whose header ends in `bytes`. Removes this header, and all bytes before
    /// it, from `bytes`.
    fn next(&mut self, bytes: &mut &[u8]) -> Option<(u8, usize)> {
        let skipped = self.skipped.min(bytes.len());
        self.skipped -= skipped;
        *bytes = &bytes[skipped..];
        let taken = (self.head.len() - self.head_len).min(bytes.len());
        self.head[self.head_len..self.head_len + taken].copy_from_slice(&bytes[..taken]);
        self.head_len += taken;
        *bytes = &bytes[taken..];
        if self.head_len < self.head.len() {
            return None;
        }
        self.head_len = 0;
        let [a, b, c, kind, ..] = self.head;
        self.skipped = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        Some((kind, self.skipped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, length: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, length, kind, 0, 0, 0, 0, 0];
        frame.resize(9 + usize::from(length), 7);
        frame
    }

    #[test]
    fn control_frames_are_counted_in_chunks_of_any_length() {
        for piece in [1, 5, 9, 17, 1_000] {
            let mut frames = ControlFrames::new(0);
            let mut sent = vec![0; PREFACE];
            for _ in 0..BURST / 2 {
                sent.extend(frame(6, 8));
                sent.extend(frame(0xFA, 0));
                sent.extend(frame(DATA, 100));
            }
            for part in sent.chunks(piece) {
                assert!(!frames.received(part, 1), "{piece}");
            }
            assert!(frames.received(&frame(8, 4), 1));
        }
    }

    #[test]
    fn a_client_may_update_windows_of_any_size() {
        let mut frames = ControlFrames::new(0);
        frames.received(&[0; PREFACE], 0);
        for piece in [1, 4, 100] {
            for _ in 0..2 * BURST {
                let mut sent = frame(HEADERS, 3);
                sent.extend(frame(DATA, 1));
                sent.chunks(piece).for_each(|part| frames.sent(part));
                let update = [frame(8, 4), frame(8, 4)].concat();
                assert!(!frames.received(&update, 1));
            }
        }
        // Frames without data need no update.
        frames.sent(&frame(DATA, 0).repeat(10));
        let more = frame(8, 4).repeat(BURST + 1);
        assert!(frames.received(&more, 1));
    }

    #[test]
    fn requests_sent_data_and_elapsed_time_allow_more_control_frames() {
        let mut frames = ControlFrames::new(0);
        let ping = |frames: &mut ControlFrames, count: usize, now| {
            (0..count).any(|_| frames.received(&frame(0xFA, 0), now))
        };
        frames.received(&[0; PREFACE], 0);
        assert!(!ping(&mut frames, BURST, 1));
        let mut data = vec![0, 40, 0, DATA, 0, 0, 0, 0, 0];
        data.resize(9 + 10 * BYTES_PER_FRAME, 7);
        frames.sent(&data);
        assert!(!ping(&mut frames, 10 + PER_DATA_FRAME, 1));
        assert!(!frames.received(&frame(HEADERS, 10), 1));
        assert!(!ping(&mut frames, PER_REQUEST, PERIOD - 1));
        assert!(ping(&mut frames, 1, PERIOD - 1));
        assert!(!ping(&mut frames, BURST, PERIOD));
        assert!(ping(&mut frames, 1, PERIOD));
    }
}
