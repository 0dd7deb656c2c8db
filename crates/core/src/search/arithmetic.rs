//! Logarithm and exponential from additions, multiplications and divisions alone: those are exact
//! by standard, so the result is the same on every machine, which `f64::ln` and `f64::exp` do not promise.

/// Natural logarithm of a positive, finite number, to about twelve digits.
pub(crate) fn ln(x: f64) -> f64 {
    debug_assert!(x > 0.0 && x.is_finite());
    let bits = x.to_bits();
    let mut exponent = i32::try_from((bits >> 52) & 0x7ff).unwrap_or(0) - 1023;
    let mut mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let square = t * t;
    let mut sum = 0.0;
    for odd in (0..12).rev() {
        sum = sum * square + 1.0 / f64::from(2 * odd + 1);
    }
    2.0 * t * sum + f64::from(exponent) * std::f64::consts::LN_2
}

/// `e` to the power `x`, for |x| up to 700.
pub(crate) fn exp(x: f64) -> f64 {
    exp_each([x])[0]
}

/// [`exp`] of several numbers at once, which takes hardly longer than of one.
#[inline]
pub(crate) fn exp_each<const N: usize>(x: [f64; N]) -> [f64; N] {
    let x = x.map(|x| x.clamp(-700.0, 700.0));
    let scaled = x.map(|x| x * std::f64::consts::LOG2_E);
    let whole = scaled.map(|scaled| (scaled + if scaled < 0.0 { -0.5 } else { 0.5 }).trunc());
    let mut rest = [0.0; N];
    for at in 0..N {
        rest[at] = (scaled[at] - whole[at]) * std::f64::consts::LN_2;
    }
    let mut sum = [1.0; N];
    for n in (1..=14).rev() {
        for at in 0..N {
            sum[at] = 1.0 + sum[at] * rest[at] / f64::from(n);
        }
    }
    for at in 0..N {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole is between -1011 and 1011"
        )]
        let power = f64::from_bits(((whole[at] as i64 + 1023) as u64) << 52);
        sum[at] *= power;
    }
    sum
}

/// The logistic function.
pub(crate) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_to_the_exact_values() {
        for x in [1e-9, 0.1, 0.5, 1.0, 1.5, 2.0, 3.3, 10.0, 1e6, 1e300] {
            assert!(
                (ln(x) - x.ln()).abs() < 1e-10 * x.ln().abs().max(1.0),
                "{x}"
            );
        }
        for x in [-700.0, -20.5, -1.0, -0.3, 0.0, 0.4, 1.0, 12.25, 700.0_f64] {
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-12, "{x}");
        }
        assert!((sigmoid(0.0) - 0.5).abs() < f64::EPSILON);
    }
}
